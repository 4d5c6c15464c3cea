import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import ssh2, { type Client } from 'ssh2';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PendingConnections } from '../../../src/access/ssh/pending-connections.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const ENDED = { timeout: 8_000, interval: 20 };

describe('unauthenticated connections', () => {
  const bounds = { max: 6, maxPerNetwork: 3, burst: 4, everyMs: 100 };

  it('are evicted, starting with the oldest from the busiest network', () => {
    const strangers = new PendingConnections<string>(bounds, () => 0);
    const dropped: string[] = [];
    const enter = (network: string, name: string) => strangers.enter(network, name, (one) => dropped.push(one));
    expect(enter('honest', 'h')).toBe(true);
    for (const name of ['a1', 'a2', 'a3']) expect(enter('a', name)).toBe(true);
    expect(enter('a', 'a4')).toBe(false);
    for (const name of ['b1', 'b2', 'b3', 'c1']) expect([name, enter(name[0]!, name)]).toEqual([name, true]);
    expect(dropped).toEqual(['a1', 'b1']);
    expect(strangers.leave('honest', 'h')).toBe(true);
    expect(strangers.leave('a', 'a1')).toBe(false);
  });

  it('are rate-limited per network', () => {
    let now = 0;
    const strangers = new PendingConnections<number>(bounds, () => now);
    const connectBriefly = (id: number) => strangers.enter('a', id, () => {}) && strangers.leave('a', id);
    expect([1, 2, 3, 4, 5].map(connectBriefly)).toEqual([true, true, true, true, false]);
    now = 100;
    expect([6, 7].map(connectBriefly)).toEqual([true, false]);
    // Connections that log in don't count.
    now = 200;
    for (let id = 8; id < 20; id += 1) {
      expect(strangers.enter('a', id, () => {})).toBe(true);
      strangers.loggedIn('a', id);
    }
  });
});

describe('an SSH connection', () => {
  let service: Service;
  let renter: Renter;
  let port: number;
  let id: string;
  const keys = ssh2.utils.generateKeyPairSync('ed25519');

  beforeAll(async () => {
    service = await startService({ sshPort: 0 });
    port = service.sshAddress!.port;
    renter = await service.renter('1000');
    const { status, body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    expect(status).toBe(201);
    id = body.id;
  });
  afterAll(() => service?.close());

  async function addKey(): Promise<string> {
    const { body } = await renter.graphql('mutation ($key: String!) { addSshKey(publicKey: $key) { id } }', {
      key: keys.public,
    });
    return body.data.addSshKey.id;
  }

  /** Logs in without a session, as `ssh -N` does. */
  async function logIn(): Promise<{ client: Client; isOpen(): boolean }> {
    const client = new ssh2.Client();
    let isOpen = true;
    client
      .on('error', () => {})
      .on('close', () => {
        isOpen = false;
      });
    client.connect({ host: '127.0.0.1', port, username: id, privateKey: keys.private });
    await once(client, 'ready');
    return { client, isOpen: () => isOpen };
  }

  it('is accepted even while three addresses occupy all login slots', async () => {
    await addKey();
    const sockets: Socket[] = [];
    const open = async (localAddress: string, count: number) => {
      const opened = Array.from({ length: count }, () => connect({ host: '127.0.0.1', port, localAddress }));
      sockets.push(...opened);
      for (const socket of opened) socket.on('error', () => {});
      await Promise.all(opened.map((socket) => (socket.connecting ? once(socket, 'connect') : null)));
    };
    const honest = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.9' });
    let isOpen = true;
    honest
      .on('error', () => {})
      .on('close', () => {
        isOpen = false;
      });
    honest.resume();
    await once(honest, 'connect');
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) await open(address, 120);
    const { client } = await logIn();
    expect(isOpen).toBe(true);
    client.end();
    honest.destroy();
    for (const socket of sockets) socket.destroy();
  });

  it('reaches only the instance its key is bound to, until the instance is destroyed', async () => {
    const { private: privateKey, public: publicKey } = ssh2.utils.generateKeyPairSync('ed25519');
    const add = async (instanceId: string, caller = renter) => {
      const mutation =
        'mutation ($key: String!, $id: ID) { addSshKey(publicKey: $key, instanceId: $id) { instanceId } }';
      const { body } = await caller.graphql(mutation, { key: publicKey, id: instanceId });
      return body.errors?.[0].message ?? body.data.addSshKey.instanceId;
    };
    const deployed = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    const own: string = deployed.body.id;
    expect(await add(own, await service.renter())).toBe('no such instance');
    expect(await add(own)).toBe(own);
    const isAdmitted = (username: string) =>
      new Promise<boolean>((resolve) => {
        const client = new ssh2.Client();
        client.once('ready', () => resolve(true)).once('error', () => resolve(false));
        client.once('ready', () => client.end()).connect({ host: '127.0.0.1', port, username, privateKey });
      });
    expect([await isAdmitted(own), await isAdmitted(id)]).toEqual([true, false]);
    // The same key also opens it as root, but with no other prefix.
    expect([await isAdmitted(`root@${own}`), await isAdmitted(`root@${id}`)]).toEqual([true, false]);
    expect([await isAdmitted(`root@root@${own}`), await isAdmitted(`@${own}`)]).toEqual([false, false]);
    await renter.rest('POST', `/instances/${own}/actions`, { action: 'stop' });
    const listKeys = async () => (await renter.graphql('{ sshKeys { instanceId } }')).body.data.sshKeys;
    expect(await listKeys()).toContainEqual({ instanceId: own });
    await renter.rest('DELETE', `/instances/${own}`);
    expect(await listKeys()).not.toContainEqual({ instanceId: own });
    expect([await isAdmitted(own), await add(own)]).toEqual([false, 'the instance has been destroyed']);
  });

  it('ends when its key is removed, even without a session and despite database faults', async () => {
    const keyId = await addKey();
    const { isOpen } = await logIn();
    const { pool } = service.deps.db;
    const query = pool.query.bind(pool);
    let faults = 0;
    const querySpy = vi.spyOn(pool, 'query').mockImplementation(((...args: [{ name?: string }]) => {
      if (args[0]?.name !== 'reach' || faults === 2) return query(...(args as unknown as Parameters<typeof query>));
      faults += 1;
      return Promise.reject(new Error('planted'));
    }) as unknown as typeof pool.query);
    const { body } = await renter.graphql(`mutation { removeSshKey(id: "${keyId}") { id } }`);
    expect(body.errors).toBeUndefined();
    await expect.poll(isOpen, ENDED).toBe(false);
    expect(faults).toBe(2);
    querySpy.mockRestore();
  });

  it('ends when its instance stops', async () => {
    await addKey();
    const { isOpen } = await logIn();
    expect((await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' })).status).toBe(200);
    await expect.poll(isOpen, ENDED).toBe(false);
  });
});
