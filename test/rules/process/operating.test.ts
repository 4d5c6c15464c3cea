import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/admin/examples.js';
import { createProgram } from '../../../src/admin/program.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { commandsOf } from '../../support/commands.js';

describe('docs/operating.md', () => {
  const commands = new Map(commandsOf(createProgram(async () => {})));
  const text = readFileSync(join(PACKAGE_ROOT, 'docs/operating.md'), 'utf8');
  const section = text.split('## Operator commands')[1]!.split('\n## ')[0]!;
  const cells = section.split('\n').flatMap((line) => /^\| (`.*?`) \| /.exec(line)?.[1] ?? []);
  const spans = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, span]) => span!));

  it('lists exactly the operator commands listed by --help', () => {
    const listed = spans.map((span) => /^[a-z-]+( [a-z]+)?(?= |$)/.exec(span)![0]);
    expect(listed.toSorted()).toEqual([...commands.keys()].toSorted());
  });

  it('documents only options that the commands have', () => {
    for (const span of spans) {
      const help = commands.get(/^[a-z-]+( [a-z]+)?(?= |$)/.exec(span)![0])!.helpInformation();
      for (const [option] of span.matchAll(/--[a-z-]+/g)) expect(help, span).toContain(option);
    }
  });
});

describe('the examples in help texts', () => {
  const commands = new Map(commandsOf(createProgram(async () => {})));

  it('exist for exactly the operator commands', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual([...commands.keys()].toSorted());
  });

  it.each(Object.entries(EXAMPLES))('use only options that the command has: %s', (path, example) => {
    expect(example).toMatch(new RegExp(`\\badmin ${path}\\b`));
    const help = commands.get(path)!.helpInformation();
    for (const [option] of example.matchAll(/--[a-z-]+/g)) expect(help).toContain(option);
  });
});
