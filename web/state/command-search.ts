export interface Command {
  /** Unique among all. */
  id: string;
  group: string;
  name: string;
  /** Muted text after the name. */
  hint: string;
  /** Other words to find it by. */
  words: string;
  icon: string;
  /** Whether it is shown while nothing is typed. */
  isFirst: boolean;
  run(): void;
}

/** Maximum shown. */
const MOST = 40;

/**
 * Returns the commands that a text means: each word occurs in the name, hint or words. Those whose name begins with it
 * come first, then those with a word that does, then the others; each in the given order.
 */
export function foundCommands<Found extends Pick<Command, 'name' | 'hint' | 'words' | 'isFirst'>>(
  commands: readonly Found[],
  typed: string,
): readonly Found[] {
  const asked = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (asked.length === 0) return commands.filter(({ isFirst }) => isFirst).slice(0, MOST);
  const rankOf = ({ name, hint, words }: Found): number | null => {
    const known = `${name} ${hint} ${words}`.toLowerCase();
    if (!asked.every((word) => known.includes(word))) return null;
    if (name.toLowerCase().startsWith(asked.join(' '))) return 0;
    const starts = name.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    return asked.every((word) => starts.some((start) => start.startsWith(word))) ? 1 : 2;
  };
  const ranked = commands.flatMap((command) => {
    const rank = rankOf(command);
    return rank === null ? [] : [{ command, rank }];
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, MOST)
    .map(({ command }) => command);
}
