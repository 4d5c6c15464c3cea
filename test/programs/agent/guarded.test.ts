import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GUARDED_SCRIPT } from '../../../src/agent/volumes/guarded.js';
import { needs } from '../../support/tools.js';

/** Replaces restic and does everything that a malicious repository could make a compromised restic do. */
const PROGRAM = `#!/bin/sh
chmod 4777 /restic; rm -f /restic; (echo more >> /restic)
echo '#!/bin/sh' > /cache/run; chmod 755 /cache/run; /cache/run && echo ran > /mnt/ran
(echo more > /usr/bin/guarded-test); (echo more > /etc/guarded-test)
echo "$@" > /mnt/arguments
ls -A / > /mnt/seen
`;

it('a compromised restic can change only its volume and its cache', needs('mount', 'setpriv'), () => {
  const dir = mkdtempSync(join(tmpdir(), 'guarded-'));
  const [root, volume, cache, program] = ['root', 'volume', 'cache', 'program'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const made of [root, volume, cache]) mkdirSync(made);
  writeFileSync(program, PROGRAM);
  chmodSync(program, 0o755);
  try {
    const given = [root, volume, '/mnt', 'rw', cache, program, '$(touch /mnt/x)', 'a b'];
    const inOwn = ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--', '/bin/sh', '-c'];
    execFileSync('setpriv', [...inOwn, GUARDED_SCRIPT, 'restic', ...given], { stdio: 'pipe' });
    expect([readFileSync(program, 'utf8'), statSync(program).mode & 0o7777]).toEqual([PROGRAM, 0o755]);
    expect(existsSync(join(volume, 'ran'))).toBe(false);
    expect(existsSync('/usr/bin/guarded-test') || existsSync('/etc/guarded-test')).toBe(false);
    expect(readFileSync(join(volume, 'arguments'), 'utf8')).toBe('$(touch /mnt/x) a b\n');
    const seen = readFileSync(join(volume, 'seen'), 'utf8').trim().split('\n');
    const known = ['bin', 'cache', 'etc', 'lib', 'lib32', 'lib64', 'mnt', 'old', 'proc', 'restic', 'sbin', 'usr'];
    expect(seen.filter((name) => !known.includes(name))).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
