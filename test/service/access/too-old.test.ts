import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TUNNEL_KINDS_HEADER, TUNNELS_PATH } from '../../../src/agent-protocol/tunnel-protocol.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { sessionOf, TerminalPage } from '../../support/access/terminal-page.js';
import { seen } from '../../support/agent.js';
import { startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

it('terminals and users unsupported by an old agent are refused with a reason', async () => {
  const service = await startService({ sshPort: 0 });
  const renter = await service.renter('1000');
  const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
  const agent = await WireAgent.join(service.address, (await enrol(service.deps, input)).code);
  await agent.report();
  await service.deps.fleet.heartbeats.flush();
  await service.deps.db.notices.caughtUp();
  const { status, body } = await renter.rest('POST', '/instances', { machine_id: agent.machineId });
  expect(status).toBe(201);
  await agent.desired();
  await agent.report([seen(body.id, 'RUNNING')]);
  const cookie = await sessionOf(service.address, renter.key);

  /** Returns the gateway's first message to an agent that dials with these headers. */
  const dial = async (headers: Record<string, string>, user?: string) => {
    const page = new TerminalPage(service.address, cookie, { instance: body.id, ...(user !== undefined && { user }) });
    const { streams } = await agent.desired(5, true);
    const address = `${service.address.replace('http', 'ws')}${TUNNELS_PATH}${streams![0]!.id}`;
    const socket = new WebSocket(address, { headers: { ...agent.headers(), ...headers } });
    const answer = await new Promise<string>((resolve) => {
      socket.once('message', (data) => resolve(String(data)));
      socket.on('error', (error) => resolve(String(error)));
    });
    socket.terminate();
    return { answer, last: await page.end() };
  };
  for (const kinds of [undefined, 'exec,port,logs', 'shellfish']) {
    const { answer, last } = await dial(kinds === undefined ? {} : { [TUNNEL_KINDS_HEADER]: kinds });
    expect(answer).toContain('404');
    const message = `the host agent on ${body.id}'s machine is too old`;
    expect(last).toEqual({ type: 'refused', reason: 'too_old', message });
  }
  expect((await dial({ [TUNNEL_KINDS_HEADER]: 'exec,port,logs,shell' }, 'root')).last).toMatchObject({
    reason: 'too_old',
  });
  const root = await dial({ [TUNNEL_KINDS_HEADER]: 'exec,port,logs,shell,user' }, 'root');
  expect(JSON.parse(root.answer)).toMatchObject({ target: { kind: 'shell', user: 'root' } });
  const { answer } = await dial({ [TUNNEL_KINDS_HEADER]: 'exec,port,logs,shell' });
  expect(JSON.parse(answer)).toMatchObject({ type: 'open', instance: body.id, target: { kind: 'shell' } });

  // An older agent would run a command as the container's user instead of root.
  const keys = ssh2.utils.generateKeyPairSync('ed25519');
  await renter.graphql('mutation ($key: String!) { addSshKey(publicKey: $key) { id } }', { key: keys.public });
  const client = new ssh2.Client();
  const login = { host: '127.0.0.1', port: service.sshAddress!.port, privateKey: keys.private };
  client.connect({ ...login, username: `root@${body.id}` });
  await once(client, 'ready');
  // The gateway closes its connections below.
  client.on('error', () => {});
  for (const kinds of [undefined, 'exec,port,logs,shell', 'users', 'exec,port,logs,shell,user']) {
    const command = new Promise<ssh2.ClientChannel>((resolve, reject) =>
      client.exec('id -u', (error, channel) => (error ? reject(error) : resolve(channel))),
    );
    const { streams } = await agent.desired(5, true);
    const address = `${service.address.replace('http', 'ws')}${TUNNELS_PATH}${streams![0]!.id}`;
    const named = kinds === undefined ? {} : { [TUNNEL_KINDS_HEADER]: kinds };
    const socket = new WebSocket(address, { headers: { ...agent.headers(), ...named } });
    const first = await new Promise<string>((resolve) => {
      socket.once('message', (data) => resolve(String(data)));
      socket.on('error', (error) => resolve(String(error)));
    });
    socket.terminate();
    const isSupported = kinds?.endsWith(',user') ?? false;
    if (isSupported) expect(JSON.parse(first).target).toMatchObject({ kind: 'exec', command: 'id -u', user: 'root' });
    else expect(first).toContain('404');
    const shown = await text((await command).stderr);
    if (!isSupported) expect(shown).toContain('is too old');
  }
  client.end();
  await service.close();
});
