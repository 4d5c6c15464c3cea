// node scripts/built.mjs            builds unless dist/ was built from the current sources
// node scripts/built.mjs --stamp    records that dist/ was built from them, as the last step of `npm run build`
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STAMP = join(ROOT, 'dist/.built-from');
const SOURCES = ['src', 'web', 'prisma', 'scripts', 'package.json', 'package-lock.json', 'schema.graphql'];
/** Files that the build itself writes. */
const GENERATED = /^(src\/database\/generated|web\/generated)\//;

const hash = sourceHash();
if (process.argv.includes('--stamp')) writeFileSync(STAMP, hash);
else if (stamp() !== hash)
  process.exitCode = spawnSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' }).status;

function stamp() {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return null;
  }
}

function sourceHash() {
  const sum = createHash('sha256').update(process.version);
  for (const path of SOURCES.flatMap(filesOf)) sum.update(path).update(readFileSync(join(ROOT, path)));
  return sum.digest('hex');
}

function filesOf(source) {
  if (source.includes('.')) return [source];
  return readdirSync(join(ROOT, source), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .filter((path) => !GENERATED.test(path))
    .sort();
}
