/** Maximum length of a caller's name when quoted in a message. */
const MAX_QUOTED = 40;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;
/** Matches messages defined by the fields themselves. All other messages come from the validation library. */
const OWN_MESSAGE = /^(must|has) /;

/** A fault found by a schema, along with the path to the invalid value. */
export interface InputIssue {
  path: readonly PropertyKey[];
  message: string;
}

/**
 * Returns a message that names the invalid value and the fault. The message names a list entry if the schema says what
 * the entry must be. Otherwise, it names the whole field and its bounds (`must`). Values are never quoted, because they
 * may be secrets.
 */
export function inputFault(name: string, must: string, issues: readonly InputIssue[]): string {
  const issue = issues.find(({ message }) => OWN_MESSAGE.test(message));
  if (issue === undefined) return `${name} must be ${must}`;
  return `${name}${issue.path.map(step).join('')} ${issue.message}`;
}

function step(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`;
  const text = String(key);
  return PLAIN_NAME.test(text) ? `.${text}` : `[${JSON.stringify(shortened(text))}]`;
}

export function shortened(name: string): string {
  return name.length <= MAX_QUOTED ? name : `${name.slice(0, MAX_QUOTED)}…`;
}
