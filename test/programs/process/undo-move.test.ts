import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.js';
import { readMoveMarker, writeMoveMarker } from '../../../src/database/embedded/move-marker.js';
import { beginAtTarget } from '../../../src/database/move/target.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, connect, type Env, folder, preparedFolder, query } from '../../support/process.js';

const PATIENT = { timeout: 180_000 };

let server: EmbeddedPostgres;
let target: string;
let dataDir: string;
let env: Env;

async function createTarget(name: string): Promise<string> {
  await query(server.url, `create database ${name}`);
  return server.url.replace('/gateway?', `/${name}?`);
}

const move = (to: string) => admin(['database', 'move', '--to', to], env);
const undo = (...more: string[]) => admin(['database', 'move', '--undo', ...more], env);
const refused = (stderr: RegExp) => ({ code: 2, stderr: expect.stringMatching(stderr) });
const stateOf = () => JSON.parse(readFileSync(join(dataDir, 'move.json'), 'utf8')).state;
const setName = (name: string) => query(target, `update account set name = '${name}'`);

/** Whether gateways refuse the target. */
async function isUnfinished(url: string): Promise<boolean> {
  const [row] = await query(url, `select to_regclass('unfinished_move.move') is not null as found`);
  return row!.found === true;
}

beforeAll(async () => {
  server = await openEmbeddedPostgres({ dataDir: join(folder(), 'target') });
  dataDir = await preparedFolder();
  env = { DATA_DIR: dataDir, LOG_LEVEL: 'warn' };
  target = await createTarget('cluster');
  expect((await move(target)).code).toBe(0);
}, PATIENT.timeout);
afterAll(async () => {
  await server.release();
  await cleanUp();
});

describe('database move', () => {
  it('checks the copy again if it was killed before its last step', PATIENT, async () => {
    const [{ name }] = (await query(target, 'select name from account')) as [{ name: string }];
    const session = await connect(target);
    await beginAtTarget(session, (await readMoveMarker(dataDir))!.id);
    await session.end();
    // For example, because of a failover to a standby that wasn't synchronous.
    await setName('Lost');
    expect(await adminJson(['database', 'move', '--to', target], env)).toMatchObject({ state: 'moved' });
    expect(await query(target, 'select name from account')).toEqual([{ name }]);
    expect(await isUnfinished(target)).toBe(false);
  });

  it('is undone only if no change is lost, and then gateways use only the source', PATIENT, async () => {
    // Keeps the server running between the commands.
    const { release } = await openEmbeddedPostgres({ dataDir, isMove: true });
    expect(await undo()).toMatchObject(refused(/changes in .*\/cluster since the move would be lost/));
    const session = await connect(target);
    expect(await undo('--to', target)).toMatchObject(refused(/stop all processes that use/));
    await session.end();
    const [{ name }] = (await query(target, 'select name from account')) as [{ name: string }];
    await setName('Changed');
    expect(await undo('--to', target)).toMatchObject(refused(/account was changed in .*\/cluster since the move/));
    expect(await undo('--to', server.url)).toMatchObject(refused(/and --to is .*\/gateway/));
    await setName(name);
    expect(stateOf()).toBe('moved');
    expect((await undo('--to', target)).code).toBe(0);
    expect(await isUnfinished(target)).toBe(true);
    expect(await readMoveMarker(dataDir)).toBeNull();
    await release();
    expect((await adminJson(['audit'], env)).findings).toEqual([]);
  });

  it('is undone without the target if its changes may be lost', PATIENT, async () => {
    await writeMoveMarker(dataDir, { id: 'a', target: 'db:5432/gateway', state: 'moved' });
    expect((await undo('--lose-changes')).code).toBe(0);
    expect(await readMoveMarker(dataDir)).toBeNull();
  });

  it('refuses unsuitable targets with one line', PATIENT, async () => {
    const itself = await openEmbeddedPostgres({ dataDir });
    expect(await move(target)).toMatchObject(refused(/^the target contains the unfinished move.*\n$/));
    const used = await createTarget('used');
    await query(used, `create type leftover as enum ('a')`);
    expect(await move(used)).toMatchObject(refused(/must be an empty database.*leftover\n$/));
    expect(await move(used.replace('/used?', '/absent?'))).toMatchObject(refused(/^can't connect to --to: .*\n$/));
    expect(await move(itself.url)).toMatchObject(refused(/on the built-in PostgreSQL itself/));
    await itself.release();
    expect(await admin(['database', 'move'], env)).toMatchObject(refused(/use --to or --undo/));
    expect(await move('mysql://x/y')).toMatchObject(refused(/postgresql:\/\//));
  });
});
