import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/cli/examples.js';
import { createProgram } from '../../../src/cli/program.js';
import { commandsOf, helpOf } from '../../support/commands.js';

const LINE_OF_COMMANDS = /^.{12}([a-z-]+(?:, [a-z-]+)*) {2,}[A-Z]/;

describe('gpu --help', () => {
  const program = createProgram();
  const lines = helpOf(program).trimEnd().split('\n');

  it('fits into 80 columns and 40 lines', () => {
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it('lists each command once', () => {
    const listed = lines.flatMap((line) => LINE_OF_COMMANDS.exec(line)?.[1]?.split(', ') ?? []);
    expect(listed.toSorted()).toEqual(program.commands.map((command) => command.name()).toSorted());
  });
});

describe('the help for a command', () => {
  const commands = commandsOf(createProgram());

  it('has an example for every command and no other examples', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(commands.map(([path]) => path).toSorted());
  });

  it.each(commands)('fits into 80 columns and explains the command: gpu %s', (path, command) => {
    const help = helpOf(command);
    expect(help).toMatch(new RegExp(`^Usage: gpu ${path} `));
    expect(command.description()).toMatch(/^[A-Z][a-z]+ .*[^.]$/);
    for (const { description } of command.options) expect(description).toMatch(/^[A-Z]/);
    const example = EXAMPLES[path]!;
    expect(help.endsWith(`\nExample:\n  ${example}\n`)).toBe(true);
    expect(example).toContain(`gpu ${path}`);
    for (const [option] of example.split(' -- ')[0]!.matchAll(/--[a-z-]+/g)) expect(help).toContain(option);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
