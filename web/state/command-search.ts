export interface Command {
  /** Unique among all. */
  id: string;
  group: string;
  name: string;
  /** Muted text after the name. */
  hint: string;
  /** Further words that find it. */
  keywords: string;
  icon: string;
  /** Whether it is shown while nothing is typed. */
  isFirst: boolean;
  run(): void;
}

/** Maximum shown. */
const MAX_SHOWN = 40;

/**
 * Returns the commands that a text means: each word occurs in the name, hint or keywords. Those whose name begins with it
 * come first, then those with a word that does, then the others; each in the given order.
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
