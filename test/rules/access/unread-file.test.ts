import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { filesOf } from '../../../src/access/files/instance-files.js';
import type { Tunnels } from '../../../src/access/tunnels.js';
import type { ExecTarget } from '../../../src/agent-protocol/tunnel-protocol.js';

it("a download's command ends if its client disconnects before the first byte", async () => {
  const open = () => new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  const tunnel = Object.assign(open(), { stderr: open() });
  tunnel.push('5\nhello');
  const tunnels = { open: async () => tunnel } as unknown as Tunnels;
  const location = { opener: { accountId: 'a', keyId: 'k' }, instanceId: 'i-00000000', path: Buffer.from('/file') };
  const { bytes } = await filesOf(tunnels).read(location, new AbortController().signal);
  bytes.destroy();
  await expect.poll(() => tunnel.destroyed, { timeout: 5_000 }).toBe(true);
});

/**
 * Runs a tunnel's command locally. When the connection is lost, the command gets SIGHUP, as it would from the agent,
 * but its input stays open.
 */
function openHere({ target: { argv, env } }: { target: ExecTarget }): Duplex {
  const child = spawn(argv![0]!, argv!.slice(1), { env: { ...process.env, ...env }, detached: true });
  const tunnel = new Duplex({
    read: () => {},
    write: (chunk, _encoding, done) => void child.stdin.write(chunk, () => done()),
    destroy: (error, done) => {
      process.kill(-child.pid!, 'SIGHUP');
      child.once('close', () => done(error));
    },
  });
  child.stdout.on('data', (chunk) => tunnel.push(chunk));
  return Object.assign(tunnel, { stderr: child.stderr });
}

it('an upload leaves nothing behind when its connection is lost', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'upload-'));
  const tunnels = { open: async (request: { target: ExecTarget }) => openHere(request) } as unknown as Tunnels;
  const disconnect = new AbortController();
  async function* endless() {
    yield Buffer.alloc(65_536);
    const sizes = () => readdirSync(dir).map((name) => statSync(join(dir, name)).size);
    await expect.poll(sizes, { timeout: 20_000 }).toEqual([65_536]);
    disconnect.abort();
  }
  const location = {
    opener: { accountId: 'a', keyId: 'k' },
    instanceId: 'i-00000000',
    path: Buffer.from(join(dir, 'file')),
  };
  try {
    const upload = { size: 1_000_000, replaces: false, bytes: endless() };
    await expect(filesOf(tunnels).write(location, upload, disconnect.signal)).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(readdirSync(dir)).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
