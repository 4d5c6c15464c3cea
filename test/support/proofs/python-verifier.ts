import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import type { VerifiedFile } from '../../../src/verify/verify.js';
import { find, type Needs, needsThat } from '../tools.js';

/** The result of the Python verifier, with one line of text for each fault and for each part that it can't check. */
export interface PythonResult {
  exitCode: number;
  findings: string[];
}

/** Verifies each set of files that a line of input contains. */
const SCRIPT = `
import json, sys
from gpu_rental.verify import Verifier
for line in sys.stdin:
    verifier = Verifier()
    for name, text in json.loads(line):
        verifier.read(name, text)
    code = verifier.run()
    print(json.dumps({"exitCode": code, "findings": verifier.faults + verifier.gaps}))
`;

/** Leaves out a test without Python and its package cryptography. */
export function needsPythonVerifier(): Needs {
  const python = find('python3');
  const hasPackage = python !== null && spawnSync(python, ['-c', 'import cryptography']).status === 0;
  return needsThat(hasPackage, 'cryptography for Python', 'python3-cryptography');
}

/** Returns what the verifier of the Python SDK reports for each set of files. Starts Python only once. */
export async function verifyInPython(sets: readonly (readonly VerifiedFile[])[]): Promise<PythonResult[]> {
  const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python') };
  const child = spawn(find('python3')!, ['-B', '-c', SCRIPT], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdin.on('error', () => {});
  for (const files of sets)
    child.stdin.write(`${JSON.stringify(files.map(({ name, content }) => [name, Buffer.from(content).toString()]))}\n`);
  child.stdin.end();
  const results: PythonResult[] = [];
  for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line));
  const [code] = await exit;
  if (code !== 0 || results.length !== sets.length) throw new Error(`the Python verifier exited with ${code}`);
  return results;
}
