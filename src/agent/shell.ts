import { execFile } from 'node:child_process';

const ENDS_WITHIN_MS = 60_000;
const MAX_OUTPUT = 8_388_608;

/**
 * Returns the output of a program on the host. Rejects with the last line of its output if it fails, is missing, or
 * takes too long.
 */
export function output(file: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: ENDS_WITHIN_MS, maxBuffer: MAX_OUTPUT, env: { ...process.env, LC_ALL: 'C' } };
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file}: ${stderr.trim().split('\n').at(-1) || error.message}`));
    });
  });
}

/** Returns null if the program fails or is missing. */
export async function outputOrNull(file: string, ...args: string[]): Promise<string | null> {
  try {
    return await output(file, ...args);
  } catch {
    return null;
  }
}
