import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { filesOf } from '../../src/access/files/instance-files.js';
import type { Tunnels } from '../../src/access/tunnels.js';

it('of whoever is gone before the first byte its command ends too', async () => {
  const open = () => new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  const tunnel = Object.assign(open(), { stderr: open() });
  tunnel.push('5\nhello');
  const tunnels = { open: async () => tunnel } as unknown as Tunnels;
  const place = { opener: { accountId: 'a', keyId: 'k' }, instanceId: 'i-00000000', path: Buffer.from('/file') };
  const { bytes } = await filesOf(tunnels).read(place, new AbortController().signal);
  bytes.destroy();
  await expect.poll(() => tunnel.destroyed, { timeout: 5_000 }).toBe(true);
});
