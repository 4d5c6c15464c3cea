import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { RunRestic } from '../domain/volumes/restic.js';

const MAX_OUTPUT = 20_000;
/**
 * Maximum memory in kB. A renter controls the data that restic reads, such as an index that grows without limit when
 * unpacked.
 */
const MAX_DATA_KB = 2_097_152;
/** Environment variables passed on to restic, which accesses an S3 store directly. */
const PASSED_ON = /^(PATH|AWS_\w+|HTTPS?_PROXY|NO_PROXY|SSL_CERT_\w+)$/;

/** Whether restic is installed on this machine. */
export async function hasRestic(path = process.env.PATH ?? ''): Promise<boolean> {
  const found = path.split(delimiter).map((dir) => access(join(dir, 'restic'), constants.X_OK));
  return Promise.any(found).then(
    () => true,
    () => false,
  );
}

/** Runs the restic found in PATH. The password is passed in the environment, which only restic's own user can read. */
export const runRestic: RunRestic = ({ url, password }, args, signal) =>
  new Promise((resolve, reject) => {
    const passed = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name));
    const bounded = `ulimit -d ${MAX_DATA_KB} && exec nice -n 10 restic "$@"`;
    const child = spawn('/bin/sh', ['-c', bounded, 'restic', '--no-cache', '--quiet', ...args], {
      env: { ...Object.fromEntries(passed), HOME: tmpdir(), RESTIC_REPOSITORY: url, RESTIC_PASSWORD: password },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-MAX_OUTPUT);
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
