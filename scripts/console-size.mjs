// Fails if a first visit to the console would load more than `MOST_BYTES` of JavaScript in any language. The page's
// scripts and their static imports count, but later downloads don't.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export const MOST_BYTES = 70_000;

const folder = new URL('../dist/console/', import.meta.url);

async function weigh(file, seen) {
  if (seen.has(file.href)) return 0;
  seen.add(file.href);
  const text = await readFile(file, 'utf8');
  let bytes = gzipSync(text, { level: 9 }).length;
  for (const [, imported] of text.matchAll(/(?:^|[;}])import(?:[^"'();]*from)?["'](\.[^"']+)["']/g)) {
    bytes += await weigh(new URL(imported, file), seen);
  }
  return bytes;
}

async function firstLoad(page) {
  const seen = new Set();
  let bytes = 0;
  for (const [, path] of page.matchAll(/<(?:script|link)[^>]+(?:src|href)="(\/[^"]+\.js)"/g))
    bytes += await weigh(new URL(`.${path}`, folder), seen);
  return bytes;
}

/** Returns the compressed size of a first visit's JavaScript for each page, which is in one language. */
export async function firstLoads() {
  const pages = (await readdir(folder)).filter((name) => /^index\.\w+\.html$/.test(name));
  if (pages.length === 0) throw new Error(`no page in ${fileURLToPath(folder)}: run \`npm run build\``);
  const loads = [];
  for (const name of pages) loads.push([name, await firstLoad(await readFile(new URL(name, folder), 'utf8'))]);
  return loads;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, bytes] of await firstLoads()) {
    if (bytes === 0) throw new Error(`no script in ${name}`);
    if (bytes <= MOST_BYTES) continue;
    console.error(`${name} initially loads ${bytes} bytes of JavaScript (gzip), more than ${MOST_BYTES}`);
    process.exitCode = 1;
  }
}
