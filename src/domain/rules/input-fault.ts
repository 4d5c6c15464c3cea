/** Maximum characters of a name from the caller that a message quotes. */
const MAX_QUOTED = 40;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;
/** Matches the fields' own messages; all others are the library's. */
const OWN_MESSAGE = /^(must|has) /;

/** A fault that a schema found, and the path of the value. */
export interface InputIssue {
  path: readonly PropertyKey[];
  message: string;
}

/**
 * Names the invalid value and the fault: an entry of a list if the schema says what it must be, otherwise the whole
 * field with its bounds (`must`). Values are never quoted, because they may be secrets.
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
