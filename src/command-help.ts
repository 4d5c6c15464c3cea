import { Command } from 'commander';

const NO_COMMAND = 'missing command; --help lists the commands';

/** One example per command, by the command's path below the program, such as `account create`. */
export type Examples = Readonly<Record<string, string>>;

interface ProgramTexts {
  description: string;
  /** Ends the program's own help: examples, environment and exit codes. */
  notes: string;
}

/**
 * Returns a program without commands. `complain` writes one line to standard error. To a program or group without a
 * command, it says so in place of the whole help.
 */
export function newProgram(
  name: string,
  { description, notes }: ProgramTexts,
  complain: (text: string) => void,
): Command {
  return new Command(name)
    .description(description)
    .addHelpText('after', ({ error }) => (error ? '' : `\n${notes}`))
    .configureHelp({ showGlobalOptions: true, subcommandTerm })
    .configureOutput({ writeErr: (text) => complain(text.replace(/^error: /, '').replace(/^Usage:.*/s, NO_COMMAND)) });
}

/** Makes a program and its commands throw instead of exiting. `examples`, by command path, end their help. */
export function finishProgram(program: Command, examples: Examples): void {
  finish(program, [], examples);
}

function finish(command: Command, path: readonly string[], examples: Examples): void {
  // Otherwise, both would belong to the last group of each.
  if (command.commandsGroup() !== '') command.commandsGroup('Help:');
  command.exitOverride().optionsGroup('Options:').helpOption('-h, --help', 'Print help');
  if (command.commands.length > 0) command.helpCommand('help [command]', 'Print help for a command');
  const example = examples[path.join(' ')];
  if (example !== undefined) command.addHelpText('after', ({ error }) => (error ? '' : `\nExample:\n  ${example}`));
  for (const child of command.commands) finish(child, [...path, child.name()], examples);
}

/** Returns a command's name and arguments for the list of commands; its options are in its own help. */
export function subcommandTerm(command: Command): string {
  const names = command.registeredArguments.map((each) => {
    const name = each.variadic ? `${each.name()}...` : each.name();
    return each.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...names].join(' ');
}
