import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { hostClock } from '../../../src/agent/clock.js';
import { openDisks } from '../../../src/agent/disks.js';
import type { Engine } from '../../../src/agent/engine/engine.js';
import { Reconciler } from '../../../src/agent/reconciler.js';
import { Registries } from '../../../src/agent/registries.js';
import { SecretFiles } from '../../../src/agent/secret-files.js';
import { StartRecords } from '../../../src/agent/start-records.js';
import { HostVolumes } from '../../../src/agent/volumes/host-volumes.js';
import { desiredInstance } from '../../support/hosts/agent-process.js';

const ID = 'i-00000001';

it('the agent reports a disk without a container as UNKNOWN and erases it on request', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kept-disks-'));
  mkdirSync(join(dataDir, 'disks'));
  writeFileSync(join(dataDir, 'disks', `${ID}.ext4`), '');
  // An engine without containers, as if its storage had been cleared.
  const engine = { list: async () => [], inspect: async () => null, remove: async () => {} } as Partial<Engine>;
  const reconciler = new Reconciler({
    engine: engine as Engine,
    disks: openDisks(dataDir, 'volume'),
    volumes: await HostVolumes.open(dataDir, ''),
    gpus: { found: [], refresh: async () => true, uuids: () => [], grant: async () => null, grantedTo: () => [] },
    allowsFuse: false,
    clock: hostClock,
    log: pino({ level: 'silent' }),
    machineId: 'm-test',
    stopSeconds: 1,
    registries: new Registries([]),
    ownImages: new Set(),
    pullLimits: { seconds: 1, kbPerSecond: 0 },
    secretFiles: new SecretFiles(dataDir),
    records: new StartRecords(dataDir),
    volumeAccess: () => Promise.reject(new Error('there are none')),
    secretsOf: () => Promise.reject(new Error('there are none')),
    changed: () => {},
  });
  try {
    await reconciler.apply({ generation: 1, instances: [] });
    expect(reconciler.state).toMatchObject({ unknown: [ID], instances: [] });
    // The disk remains because the agent erases only what is known to be unwanted.
    await reconciler.apply({ generation: 2, instances: [] });
    expect(reconciler.state.unknown).toEqual([ID]);
    await reconciler.apply({ generation: 3, instances: [desiredInstance(ID, 'absent')] });
    await expect.poll(() => reconciler.state.instances[0]?.phase).toBe('ERASED');
    expect(readdirSync(join(dataDir, 'disks'))).toEqual([]);
    await reconciler.apply({ generation: 4, instances: [] });
    expect(reconciler.state).toMatchObject({ unknown: [], instances: [] });
  } finally {
    reconciler.end();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
