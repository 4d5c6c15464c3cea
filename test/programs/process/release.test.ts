import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { cleanUp, folder, run } from '../../support/process.js';

afterAll(cleanUp);

const RELEASE = join(PACKAGE_ROOT, 'scripts/release.mjs');
const OLD = '## 1.0.0\n\n- Old.\n';

function project(unreleased: string): string {
  const cwd = folder();
  writeFileSync(join(cwd, 'package.json'), '{ "version": "2.0.0" }');
  writeFileSync(join(cwd, 'CHANGELOG.md'), `# Changelog\n\n## Unreleased\n${unreleased}\n${OLD}`);
  return cwd;
}

it('a release moves the unreleased entries under its version and date', async () => {
  const cwd = project('\n### Added\n\n- New.\n');
  expect(await run([RELEASE, '--check'], {}, { cwd }).ended).toEqual({ code: 0, stdout: '', stderr: '' });
  expect((await run([RELEASE], {}, { cwd }).ended).code).toBe(0);
  const changelog = readFileSync(join(cwd, 'CHANGELOG.md'), 'utf8');
  expect(changelog.replace(/\d{4}-\d\d-\d\d/, 'DAY')).toBe(
    `# Changelog\n\n## Unreleased\n\n## 2.0.0 - DAY\n\n### Added\n\n- New.\n\n${OLD}`,
  );
  // No entries remain for another release.
  expect((await run([RELEASE, '--check'], {}, { cwd }).ended).code).toBe(1);
});

it('a release without entries is rejected', async () => {
  const { code, stderr } = await run([RELEASE, '--check'], {}, { cwd: project('\n') }).ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^CHANGELOG.md has no entries/)]);
});
