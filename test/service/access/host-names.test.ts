import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendRaw } from '../../support/http.js';
import { type Service, startService } from '../../support/service.js';

const BROWSER = { accept: 'text/html,*/*;q=0.8' };
const CONSOLE = /<script type="module"/;
const INSTANCE = /Nothing to see here/;

let service: Service;

beforeAll(async () => {
  const hosts = { publicUrl: 'https://api.gpu.example.com', streamsUrl: 'https://one.gpu.example.com' };
  service = await startService({ ...hosts, serviceDomain: 'gpu.example.com' });
});
afterAll(() => service?.close());

const at = (host: string, path = '/', headers: Record<string, string> = BROWSER) =>
  sendRaw(service.address, path, { headers: { host, ...headers } });

it.each([
  'www.gpu.example.com',
  'i-00000000.gpu.example.com',
  'i-1.gpu.example.com',
  'evil.example',
  'evil.example:4000',
])('no console is served at %s', async (host) => {
  for (const path of ['/', '/money']) {
    const { status, text } = await at(host, path);
    expect([path, status]).toEqual([path, 404]);
    expect(text).toMatch(INSTANCE);
  }
});

it.each(['api.gpu.example.com', '127.0.0.1:4000', 'localhost', 'gateway', 'a.localhost:80'])(
  'the console is served at %s',
  async (host) => {
    const { status, text } = await at(host);
    expect(status).toBe(200);
    expect(text).toMatch(CONSOLE);
  },
);

it('the API is served at every host name not reserved for instances', async () => {
  const statusAt = async (host: string) => (await at(host, '/v1/gpus/pricing', {})).status;
  expect(await statusAt('evil.example')).toBe(200);
  expect(await statusAt('api.gpu.example.com')).toBe(200);
  expect(await statusAt('one.gpu.example.com:443')).toBe(200);
  expect(await statusAt('www.gpu.example.com')).toBe(404);
});
