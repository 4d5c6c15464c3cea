import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tablesOf } from '../../../src/database/move/catalog.js';
import { refuseDifferentRows, refuseDifferentSchema } from '../../../src/database/move/compare.js';
import { createTestDatabase } from '../../support/database.js';
import { connect } from '../../support/process.js';

let source: pg.Client;
let target: pg.Client;

beforeAll(async () => {
  source = await connect(await createTestDatabase());
  target = await connect(await createTestDatabase());
});
afterAll(async () => {
  await source.end();
  await target.end();
});

async function compare(): Promise<void> {
  for (const table of await tablesOf(source)) await refuseDifferentRows(source, target, table);
  await refuseDifferentSchema(source, target, true);
}

/** Changes one of the databases until the test ends. */
async function change(client: pg.Client, text: string): Promise<void> {
  await client.query('begin');
  onTestFinished(async () => void (await client.query('rollback')));
  await client.query(text);
}

const ADD_REGION = `insert into region
  select (jsonb_populate_record(region, jsonb_build_object('code', 'zz-new'))).* from region limit 1`;
const REMOVE_MACHINE = `set local session_replication_role = replica;
  delete from machine where id = (select max(id) from machine)`;

describe('the comparison of two databases', () => {
  it('accepts equal ones, regardless of the order of their rows', async () => {
    await change(target, `update region set code = code`);
    await compare();
  });

  it.each([
    ['a changed value', `update region set name = name || '.' where code = (select min(code) from region)`, 'region'],
    ['an additional row', ADD_REGION, 'region'],
    ['a missing row', REMOVE_MACHINE, 'machine'],
    [
      'a row that replaces another one',
      `${REMOVE_MACHINE}; insert into machine select (jsonb_populate_record(machine, jsonb_build_object('id', 'm-other', 'host_id', 'm-other'))).* from machine limit 1`,
      'machine',
    ],
  ])('finds %s', async (_, fault, table) => {
    await change(target, fault);
    await expect(compare()).rejects.toThrow(`the rows of the copied table ${table} differ`);
  });

  it.each([
    ['a missing index', 'drop index FIRST_INDEX', /lacks index/],
    ['a different index', 'create index zz on machine (ram_gb)', /only the target has index zz/],
    ['a missing check', 'alter table FIRST_CHECK', /lacks constraint/],
    ['a foreign key that was not validated', 'FIRST_FOREIGN_KEY', /lacks constraint/],
    ['a missing trigger', 'drop trigger FIRST_TRIGGER', /lacks trigger/],
    ['a disabled trigger', 'alter table instance disable trigger user', /lacks trigger/],
    ['a different default', 'alter table machine alter column ports set default 7', /lacks column machine.ports/],
    ['a column that may be null', 'alter table machine alter column ports drop not null', /lacks column machine.ports/],
    ['an additional value of an enum', `alter type ledger_kind add value 'ZZ'`, /lacks type ledger_kind/],
  ])('finds %s', async (_, fault, reason) => {
    await change(target, await filledIn(fault));
    await expect(compare()).rejects.toThrow(reason);
  });
});

/** Replaces the placeholders of a fault with parts of the schema. */
async function filledIn(fault: string): Promise<string> {
  const [found] = (await target.query<Record<string, string>>(FIRST)).rows;
  return Object.entries(found!).reduce((text, [name, part]) => text.replace(name, part), fault);
}

const FIRST = `select
  (select min(i.relname) from pg_index join pg_class i on i.oid = indexrelid where not indisunique
    and i.relnamespace = 'public'::regnamespace) as "FIRST_INDEX",
  (select format('%I drop constraint %I', conrelid::regclass, conname) from pg_constraint where contype = 'c'
    and connamespace = 'public'::regnamespace order by conname limit 1) as "FIRST_CHECK",
  (select format('alter table %1$s drop constraint %2$I; alter table %1$s add constraint %2$I %3$s not valid',
      conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint where contype = 'f'
    and connamespace = 'public'::regnamespace order by conname limit 1) as "FIRST_FOREIGN_KEY",
  (select format('%I on %s', tgname, tgrelid::regclass) from pg_trigger where not tgisinternal order by tgname limit 1)
    as "FIRST_TRIGGER"`;
