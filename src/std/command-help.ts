import { Command } from 'commander';

const NO_COMMAND = 'missing command; --help lists the commands';

/** One example per command, by the command's path in the program, such as `account create`. */
export type Examples = Readonly<Record<string, string>>;

interface ProgramTexts {
  description: string;
  /** Text at the end of the program's own help: examples, environment and exit codes. */
  notes: string;
}

/**
 * Creates a program without commands. `complain` writes a line to standard error. If the program or a group is run
 * without a command, only that line is printed instead of the whole help.
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

/**
 * Makes a program and its commands throw instead of exiting. Appends each of the `examples`, by command path, to the
 * command's help.
 */
export function finishProgram(program: Command, examples: Examples): void {
  finish(program, [], examples);
}

function finish(command: Command, path: readonly string[], examples: Examples): void {
  // Otherwise, both would be listed in each one's last group.
  if (command.commandsGroup() !== '') command.commandsGroup('Help:');
  command.exitOverride().optionsGroup('Options:').helpOption('-h, --help', 'Print help');
  if (command.commands.length > 0) command.helpCommand('help [command]', 'Print help for a command');
  const example = examples[path.join(' ')];
  if (example !== undefined) command.addHelpText('after', ({ error }) => (error ? '' : `\nExample:\n  ${example}`));
  for (const child of command.commands) finish(child, [...path, child.name()], examples);
}

/** Returns a command's name and arguments for the command list. Options are shown only in the command's own help. */
export function subcommandTerm(command: Command): string {
  const names = command.registeredArguments.map((each) => {
    const name = each.variadic ? `${each.name()}...` : each.name();
    return each.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...names].join(' ');
}
