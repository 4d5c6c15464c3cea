import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renters } from '../support/default-data.mjs';
import { keyOf } from '../support/fill.mjs';
import { find, soon } from '../support/host.mjs';
import { end, NotSupported, residentMegabytesOf, startGateway, startProgram } from '../support/programs.mjs';
import { median } from '../support/rounds.mjs';

const LARGE_MB = 600;
const SMALL_FILES = 5_000;
const SMALL_BYTES = 2_000;
const ROUNDS = 3;
const AT_ONCE = 4;
const AT_LEAST = 0.8;
const AT_MOST_MEGABYTES = 100;
const LOOK_AT_MEMORY_MS = 50;
const AGAINST = 'rclone serve restic';

/**
 * restic saves and restores one large file and many small ones, alternating between the gateway and rclone's server.
 */
export const volumesCases = [
  {
    name: 'volumes',
    title: 'volume',
    work: 'both store and return the same files for restic over its REST protocol; only the gateway checks access',
    against: AGAINST,
    carry,
  },
];

async function carry({ freshUrl }) {
  for (const tool of ['restic', 'rclone']) if (find(tool) === null) throw new NotSupported(`${tool} is not installed`);
  const dir = mkdtempSync(join(tmpdir(), 'bench-volumes-'));
  const env = { SECRETS_KEY: randomBytes(32).toString('hex'), DATA_DIR: join(dir, 'gateway') };
  const gateway = await startGateway(await freshUrl(), env, { isPinned: false });
  let rclone;
  try {
    const files = writeFiles(join(dir, 'files'));
    rclone = await startRclone(join(dir, 'rclone'));
    const sides = { gateway: () => newVolume(gateway.port), peer: () => rclone.repository() };
    const rounds = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const taken = {};
      for (const side of round % 2 === 0 ? ['gateway', 'peer'] : ['peer', 'gateway'])
        taken[side] = await moved(await sides[side](), files, join(dir, 'restored'));
      rounds.push(taken);
    }
    const results = ['backup', 'restore'].map((way) => compared(way, rounds));
    results.push(await weigh(gateway, files));
    return results;
  } finally {
    if (rclone !== undefined) await end(rclone.child);
    await gateway.end();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Returns the seconds that saving and restoring took. The restored files must equal the saved ones. */
async function moved(repository, files, target) {
  await restic(repository, 'init');
  const backup = await seconds(() => restic(repository, 'backup', files));
  const restore = await seconds(() => restic(repository, 'restore', 'latest', '--target', target));
  if (digestOf(join(target, files)) !== digestOf(files))
    throw new Error('the restored files differ from the saved ones');
  rmSync(target, { recursive: true });
  return { backup, restore };
}

function compared(way, rounds) {
  const megabytes = LARGE_MB + (SMALL_FILES * SMALL_BYTES) / 1_000_000;
  const perSecond = (side) => median(rounds.map((round) => megabytes / round[side][way]));
  const ratios = rounds.map((round) => round.peer[way] / round.gateway[way]);
  const [subject, peer] = [{ perSecond: perSecond('gateway') }, { perSecond: perSecond('peer') }];
  const ratio = subject.perSecond / peer.perSecond;
  const spread = [Math.min(...ratios), Math.max(...ratios)];
  const named = { name: `volumes ${way}`, title: `volume, ${way}`, against: AGAINST };
  return {
    ...named,
    subject,
    peer,
    ratio,
    spread,
    rounds,
    note: '',
    atLeast: AT_LEAST,
    unit: 'MB/s',
    isReached: ratio >= AT_LEAST,
  };
}

/** Measures the gateway's additional memory usage while four volumes are saved concurrently. */
async function weigh(gateway, files) {
  const repositories = [];
  for (let index = 0; index < AT_ONCE; index += 1) {
    const repository = await newVolume(gateway.port);
    await restic(repository, 'init');
    repositories.push(repository);
  }
  const before = residentMegabytesOf(gateway.pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentMegabytesOf(gateway.pid));
  }, LOOK_AT_MEMORY_MS);
  await Promise.all(repositories.map((repository) => restic(repository, 'backup', files)));
  clearInterval(watch);
  const megabytes = most - before;
  const named = { name: 'volumes memory', title: 'four volumes, memory', against: 'RSS above the previous RSS' };
  return { ...named, atMostMegabytes: AT_MOST_MEGABYTES, megabytes, isReached: megabytes <= AT_MOST_MEGABYTES };
}

async function newVolume(port) {
  const key = keyOf(renters[0]);
  const ask = async (query) => {
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data, errors } = await response.json();
    if (errors !== undefined) throw new Error(errors[0].message);
    return data;
  };
  const { createVolume } = await ask('mutation { createVolume(input: { name: "bench", sizeGb: 1 }) { id } }');
  const { volumePassword } = await ask(`{ volumePassword(id: "${createVolume.id}") }`);
  return { url: `rest:http://bench:${key}@127.0.0.1:${port}/volumes/${createVolume.id}/`, password: volumePassword };
}

async function startRclone(folder) {
  mkdirSync(folder);
  const port = await freePort();
  const child = startProgram(find('rclone'), ['serve', 'restic', '--addr', `127.0.0.1:${port}`, folder]);
  await soon('rclone listens', () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  );
  let made = 0;
  const repository = () => {
    made += 1;
    return { url: `rest:http://127.0.0.1:${port}/${made}/`, password: 'bench' };
  };
  return { child, repository };
}

async function restic({ url, password }, ...args) {
  const child = startProgram(find('restic'), ['--no-cache', '--quiet', ...args], {
    env: { ...process.env, RESTIC_REPOSITORY: url, RESTIC_PASSWORD: password },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`restic ${args[0]} ended with ${code}`);
}

function writeFiles(folder) {
  mkdirSync(join(folder, 'small'), { recursive: true });
  for (let index = 0; index < SMALL_FILES; index += 1)
    writeFileSync(join(folder, 'small', String(index)), randomBytes(SMALL_BYTES));
  for (let part = 0; part < LARGE_MB / 50; part += 1)
    writeFileSync(join(folder, 'large'), randomBytes(50_000_000), { flag: 'a' });
  return folder;
}

function digestOf(folder) {
  const hash = createHash('sha256').update(readFileSync(join(folder, 'large')));
  for (const name of readdirSync(join(folder, 'small')).sort()) hash.update(readFileSync(join(folder, 'small', name)));
  return hash.digest('hex');
}

async function seconds(work) {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
