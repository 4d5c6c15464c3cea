// Writes schema.graphql from the built code. With --check, it only checks that the file is up to date.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchema } from '../dist/src/schema/index.js';

const file = fileURLToPath(new URL('../schema.graphql', import.meta.url));
const printed = `${printSchema(lexicographicSortSchema(buildSchema()))}\n`;
if (!process.argv.includes('--check')) await writeFile(file, printed);
else if ((await readFile(file, 'utf8').catch(() => '')) !== printed) {
  console.error('schema.graphql is out of date: run `npm run schema`');
  process.exitCode = 1;
}
