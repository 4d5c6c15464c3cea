// Fails when a first visit to the console would load more JavaScript than this: what index.html names, and what that imports
// at once. What is fetched later is not counted.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const MOST_BYTES = 70_000;

const folder = new URL('../dist/console/', import.meta.url);
const seen = new Set();

async function weigh(path) {
  if (seen.has(path)) return 0;
  seen.add(path);
  const file = new URL(path.replace(/^\//, ''), folder);
  const text = await readFile(file, 'utf8');
  let bytes = gzipSync(text, { level: 9 }).length;
  for (const [, imported] of text.matchAll(/(?:^|[;}])import(?:[^"'();]*from)?["'](\.[^"']+)["']/g)) {
    bytes += await weigh(new URL(imported, file).href.slice(folder.href.length));
  }
  return bytes;
}

const page = await readFile(new URL('index.html', folder), 'utf8');
let bytes = 0;
for (const [, path] of page.matchAll(/<(?:script|link)[^>]+(?:src|href)="(\/[^"]+\.js)"/g)) bytes += await weigh(path);
if (bytes === 0) throw new Error(`no script in ${fileURLToPath(folder)}index.html: run \`npm run build\``);
if (bytes > MOST_BYTES) {
  console.error(`the console loads ${bytes} bytes of JavaScript (gzip) at first, more than ${MOST_BYTES}`);
  process.exitCode = 1;
}
