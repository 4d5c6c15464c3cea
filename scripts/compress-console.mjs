// Writes compressed copies of the built console's files next to them, because the gateway compresses none of them at
// run time.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const folder = fileURLToPath(new URL('../dist/console', import.meta.url));
const COMPRESSED = /\.(html|js|css|svg|json|webmanifest)$/;
/** Smaller files fit into one packet uncompressed. */
const FROM_BYTES = 1_000;

const paths = existsSync(folder) ? readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`) : [];
for (const path of paths) {
  if (!COMPRESSED.test(path) || !statSync(path).isFile() || statSync(path).size < FROM_BYTES) continue;
  const plain = readFileSync(path);
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
  );
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
}
