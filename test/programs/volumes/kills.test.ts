import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { isLong, killsOf } from '../../support/long.js';
import { cleanUp, startProcess } from '../../support/process.js';
import { needs } from '../../support/tools.js';
import {
  makeRepository,
  newVolume,
  repositoryUrl,
  resticDone,
  SECRETS_KEY,
  startVolumeGateway,
} from '../../support/volumes.js';

const KILLS = killsOf(30);
afterAll(cleanUp);

describe('a gateway killed during a snapshot', needs('restic'), () => {
  test('keeps every acknowledged snapshot and a sound repository', {
    timeout: isLong ? 1_200_000 : 180_000,
  }, async () => {
    const [databaseUrl, dataDir] = [await createTestDatabase(), await mkdtemp(join(tmpdir(), 'kills-'))];
    const first = await startVolumeGateway({ databaseUrl, dataDir });
    const renter = await first.renter();
    const { id, password } = await newVolume(first, renter.accountId);
    await first.close();
    const env = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, SECRETS_KEY, PORT: '0', PATH: process.env.PATH! };
    const files = await mkdtemp(join(tmpdir(), 'files-'));
    const acknowledged: string[] = [];
    // One more check follows the last kill.
    for (let kill = 0; kill <= KILLS; kill += 1) {
      const gateway = await startProcess(env);
      const repository = { url: repositoryUrl(gateway, renter.key, id), password };
      if (kill === 0) await makeRepository(gateway, renter.key, { id, password });
      await resticDone(repository, 'unlock', '--remove-all');
      const listed = JSON.parse(await resticDone(repository, 'snapshots', '--json')) as { id: string }[];
      expect(listed.map((each) => each.id)).toEqual(expect.arrayContaining(acknowledged));
      expect(await resticDone(repository, 'check', '--read-data')).toContain('no errors were found');
      if (kill === KILLS) {
        await gateway.end();
        break;
      }
      await writeFile(join(files, 'file'), randomBytes(isLong ? 5_000_000 : 1_000_000));
      await resticDone(repository, 'backup', '--force', files);
      acknowledged.splice(0, acknowledged.length, ...(await rowsOf(repository)));
      await writeFile(join(files, 'file'), randomBytes(isLong ? 60_000_000 : 20_000_000));
      const saving = spawn('restic', ['--no-cache', 'backup', '--force', files], {
        env: { PATH: process.env.PATH, HOME: files, RESTIC_REPOSITORY: repository.url, RESTIC_PASSWORD: password },
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => saving.once('close', resolve));
      const folder = join(dataDir, 'volumes', id, 'arriving');
      while ((await readdir(folder)).length === 0 && saving.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 2));
      gateway.signal('SIGKILL');
      await gateway.ended;
      saving.kill('SIGKILL');
      await ended;
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS);
    await Promise.all([files, dataDir].map((dir) => rm(dir, { recursive: true })));
  });
});

async function rowsOf(repository: { url: string; password: string }): Promise<string[]> {
  return (JSON.parse(await resticDone(repository, 'snapshots', '--json')) as { id: string }[]).map(({ id }) => id);
}
