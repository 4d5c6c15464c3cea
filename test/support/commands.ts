import type { Command } from 'commander';

/** Returns every visible command that has no subcommands, with its path such as `account create`. */
export function commandsOf(parent: Command, path: string[] = []): [path: string, command: Command][] {
  const visible = parent.createHelp().visibleCommands(parent);
  return parent.commands
    .filter((command) => visible.includes(command))
    .flatMap((command) => {
      const names = [...path, command.name()];
      return command.commands.length > 0
        ? commandsOf(command, names)
        : [[names.join(' '), command] satisfies [string, Command]];
    });
}

/** Returns a command's help as it is printed at a width of 80 columns. */
export function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => 80,
  });
  command.outputHelp();
  return help;
}
