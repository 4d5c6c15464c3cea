import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of package.json, whether this runs from the sources or from the build. */
export const PACKAGE_ROOT = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : findRoot(dirname(directory));
}
