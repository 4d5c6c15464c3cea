import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BACKUP_PATH, RESTORE_ROOT, Restic } from '../../../src/agent/volumes/restic.js';
import { ResticStore } from '../../support/hosts/restic-store.js';
import { folder } from '../../support/process.js';
import { needsRoot } from '../../support/tools.js';

const VOLUME = 'v-00000001';

it(
  'restic can’t read or write the host’s files through links in a volume',
  needsRoot('restic', 'rclone', 'setpriv'),
  async () => {
    const store = await ResticStore.open();
    const server = createServer((request, response) => store.serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      store.leases.set(VOLUME, 1);
      const open = store.access([{ id: VOLUME, path: '/data', sizeGb: 1, lease: 1 }])[0]!;
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${open.path}`;
      const credentials = { url, user: '1', token: open.token, password: open.password };
      const [dir, cache, secret, honest, tricked] = [folder(), folder(), folder(), folder(), folder()];
      writeFileSync(join(secret, 'token'), 'of the host');
      const restic = await Restic.open(dir);
      const run = (volume: string, at: string, access: 'ro' | 'rw', ...args: string[]) =>
        restic.run({ args, credentials, volume, at, access, cache }, new AbortController().signal);

      mkdirSync(join(honest, 'out'));
      writeFileSync(join(honest, 'out', 'planted'), 'by the renter');
      expect((await run(honest, BACKUP_PATH, 'ro', 'init')).code).toBe(0);
      expect((await run(honest, BACKUP_PATH, 'ro', 'backup', BACKUP_PATH)).code).toBe(0);

      symlinkSync(secret, join(tricked, 'out'));
      const read = await run(tricked, BACKUP_PATH, 'ro', 'backup', `${BACKUP_PATH}/out/token`);
      expect([read.code, read.stderr.join()]).toEqual([1, expect.stringContaining('does not exist')]);
      expect((await run(tricked, BACKUP_PATH, 'ro', 'backup', '/etc/shadow')).code).not.toBe(0);
      await run(tricked, RESTORE_ROOT + BACKUP_PATH, 'rw', 'restore', 'latest', '--target', RESTORE_ROOT);
      expect(readdirSync(secret)).toEqual(['token']);
      // Restic's root folder is empty again.
      expect(readdirSync(join(dir, 'root'))).toEqual([]);
      expect(existsSync('/old')).toBe(false);
      expect(JSON.stringify(read)).not.toContain(open.token);
    } finally {
      server.close();
      await store.close();
    }
  },
);
