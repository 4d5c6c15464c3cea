import { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { sendRaw } from '../../support/http.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
let other: Service;

beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  await other?.close();
  await service?.close();
});

it("requests and responses are created with their Express app's prototypes", async () => {
  const found: boolean[] = [];
  const setPrototypeOf = Object.setPrototypeOf;
  vi.spyOn(Object, 'setPrototypeOf').mockImplementation((target, prototype) => {
    if (target instanceof IncomingMessage || target instanceof ServerResponse) {
      found.push(Object.getPrototypeOf(target) === prototype);
    }
    return setPrototypeOf(target, prototype);
  });
  const { key } = await service.renter('10');
  for (const { address } of [service, other]) {
    const { status } = await sendRaw(address, '/v1/balance', { headers: { authorization: `Bearer ${key}` } });
    expect(status).toBe(200);
  }
  expect(found).toEqual([true, true, true, true]);
});
