import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TUNNEL_KINDS_HEADER, TUNNELS_PATH } from '../../../src/agent/tunnel-protocol.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { sessionOf, TerminalPage } from '../../support/access/terminal-page.js';
import { seen } from '../../support/agent.js';
import { startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

it('explains why there is no terminal on a machine whose agent is too old for it', async () => {
  const service = await startService();
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
  const dial = async (headers: Record<string, string>) => {
    const page = new TerminalPage(service.address, cookie, { instance: body.id });
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
    const message = `the host agent of ${body.id}'s machine is too old`;
    expect(last).toEqual({ type: 'refused', reason: 'too_old', message });
  }
  const { answer } = await dial({ [TUNNEL_KINDS_HEADER]: 'exec,port,logs,shell' });
  expect(JSON.parse(answer)).toMatchObject({ type: 'open', instance: body.id, target: { kind: 'shell' } });
  await service.close();
});
