// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell expansions
import { Argument, type Command, type Option } from 'commander';
import { quoted } from '../std/quoted.js';
import { isInstance } from './instances.js';
import { printLines } from './terminal.js';

/** A command in the form that the completion script needs. */
interface CommandSpec {
  name: string;
  description: string;
  options: readonly Option[];
  /** The argument's possible values, or null if it takes the id of one of the account's instances. */
  values: readonly string[] | null;
}

const INSTANCES = 'gpu instances --quiet 2>/dev/null';
/** Lists instances by querying the service named in the command line. */
const INSTANCES_IN_BASH = `$(${INSTANCES.replace('gpu', 'gpu "${base[@]}"')})`;
const SHELLS = { bash, zsh, fish } as const;

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('Print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'Shell to print the script for').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
It completes commands, options and instance ids. To install it:
  bash  echo 'eval "$(gpu completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(gpu completion zsh)"' >> ~/.zshrc      (after compinit)
  fish  gpu completion fish > ~/.config/fish/completions/gpu.fish`,
    )
    .action((shell: keyof typeof SHELLS) => printLines(SHELLS[shell](specsOf(program))));
}

function specsOf({ commands }: Command): CommandSpec[] {
  const values = commands.map((command) => command.name());
  return [...commands.map(specOf), { name: 'help', description: 'Print help for a command', options: [], values }];
}

function specOf(command: Command): CommandSpec {
  const [argument] = command.registeredArguments;
  return {
    name: command.name(),
    description: command.description(),
    options: command.options,
    values: isInstance(argument) ? null : (argument?.argChoices ?? []),
  };
}

function bash(commands: readonly CommandSpec[]): string[] {
  const choices = commands.flatMap(({ options }) =>
    options.flatMap(({ long, argChoices = [] }) => (argChoices.length === 0 ? [] : [{ long, argChoices }])),
  );
  return [
    '# gpu completion for bash',
    '_gpu() {',
    // COMP_WORDS would split a URL at its colons.
    '  local words= command= base=() line i last cur prev typed=${COMP_LINE:0:COMP_POINT}',
    '  read -ra line <<< "$typed"',
    '  [[ $typed == *[[:space:]] ]] && line+=("")',
    '  last=$((${#line[@]} - 1))',
    '  cur=${line[last]} prev=${line[last-1]}',
    '  for ((i = 1; i < last; i++)); do',
    '    case ${line[i]} in',
    '      --base-url) base=(--base-url "${line[i+1]}"); ((i++)) ;;',
    '      --base-url=*) base=("${line[i]}") ;;',
    '      -*) ;;',
    '      *) command=${line[i]}; break ;;',
    '    esac',
    '  done',
    '  case $prev in',
    ...choices.map(({ long, argChoices }) => `    ${long}) words='${argChoices.join(' ')}' ;;`),
    '    --base-url) ;;',
    '    *) case $command in',
    `      '') words='${commands.map(({ name }) => name).join(' ')} --base-url --help --version' ;;`,
    ...commands.map(({ name, options, values }) => {
      const flags = [...options.map(({ long }) => long), '--help'].join(' ');
      const rest = values === null ? INSTANCES_IN_BASH : values.join(' ');
      return `      ${name}) if [[ $cur == -* ]]; then words='${flags}'; else words="${rest}"; fi ;;`;
    }),
    '    esac ;;',
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    'complete -F _gpu gpu',
  ];
}

function zsh(commands: readonly CommandSpec[]): string[] {
  return [
    '#compdef gpu',
    '_gpu() {',
    '  local -a commands',
    '  commands=(',
    ...commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`),
    '  )',
    '  if (( CURRENT == 2 )); then _describe command commands; return; fi',
    '  local command=$words[2]',
    '  shift words; (( CURRENT-- ))',
    '  case $command in',
    ...commands.map(({ name, options, values }) => {
      const flags = options.map((option) => quoted(zshOption(option)));
      const rest =
        values === null ? [quoted(`1:instance:{compadd $(${INSTANCES})}`)] : [quoted(`1:value:(${values.join(' ')})`)];
      return `    ${name}) _arguments ${[...flags, ...rest].join(' ')} ;;`;
    }),
    '  esac',
    '}',
    'compdef _gpu gpu',
  ];
}

function zshOption({ long, description, required, argChoices }: Option): string {
  const value = required ? `:value:${argChoices === undefined ? '' : `(${argChoices.join(' ')})`}` : '';
  return `${long}[${description.replace(/[[\]]/g, '')}]${value}`;
}

function fish(commands: readonly CommandSpec[]): string[] {
  const flag = ({ long, description, required, argChoices }: Option) =>
    [
      `-l ${long!.slice(2)} -d ${quoted(description)}`,
      required ? ' -r' : '',
      argChoices === undefined ? '' : ` -a ${quoted(argChoices.join(' '))}`,
    ].join('');
  return [
    '# gpu completion for fish',
    'complete -c gpu -f',
    'complete -c gpu -l base-url -r -d "Service URL with its path prefix"',
    ...commands.flatMap(({ name, description, options, values }) => {
      const within = `-n '__fish_seen_subcommand_from ${name}'`;
      const rest = values === null ? quoted(`(${INSTANCES})`) : quoted(values.join(' '));
      return [
        `complete -c gpu -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
        ...options.map((option) => `complete -c gpu ${within} ${flag(option)}`),
        ...(values?.length === 0 ? [] : [`complete -c gpu ${within} -a ${rest}`]),
      ];
    }),
  ];
}
