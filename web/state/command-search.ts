export interface Command {
  /** An id that is unique among all commands. */
  id: string;
  group: string;
  name: string;
  /** Text shown after the name in a muted style. */
  hint: string;
  /** Additional words by which the command can be found. */
  keywords: string;
  icon: string;
  /** Whether the command is shown before anything is typed. */
  isFirst: boolean;
  run(): void;
}

/** Maximum number of commands shown. */
const MAX_SHOWN = 40;

/**
 * Returns the commands that match a text. Each word in the text must occur in the command's name, hint or keywords.
 * Commands whose name begins with the text come first, then those with a word in their name that does, and then all
 * others. Otherwise, the order is unchanged.
 */
export function foundCommands<Found extends Pick<Command, 'name' | 'hint' | 'keywords' | 'isFirst'>>(
  commands: readonly Found[],
  typed: string,
): readonly Found[] {
  const terms = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0) return commands.filter(({ isFirst }) => isFirst).slice(0, MAX_SHOWN);
  const rankOf = ({ name, hint, keywords }: Found): number | null => {
    const known = `${name} ${hint} ${keywords}`.toLowerCase();
    if (!terms.every((word) => known.includes(word))) return null;
    if (name.toLowerCase().startsWith(terms.join(' '))) return 0;
    const starts = name.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    return terms.every((word) => starts.some((start) => start.startsWith(word))) ? 1 : 2;
  };
  const ranked = commands.flatMap((command) => {
    const rank = rankOf(command);
    return rank === null ? [] : [{ command, rank }];
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, MAX_SHOWN)
    .map(({ command }) => command);
}
