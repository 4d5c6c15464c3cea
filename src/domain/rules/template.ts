import { DomainError } from './errors.js';
import type { Launch } from './launch.js';

/** Variables of one template. */
export const MAX_TEMPLATE_VARIABLES = 30;
/** Ports of one template. */
export const MAX_TEMPLATE_PORTS = 20;
/** What is drawn for a template; the console has a picture of each name. */
export const PICTURES = [
  'box',
  'chat',
  'code',
  'flame',
  'image',
  'notebook',
  'scene',
  'server',
  'terminal',
  'tune',
] as const;

/** A variable that a template's image reads. Its default is the template's environment. */
export interface TemplateVariable {
  name: string;
  description: string;
  /** A deploy without a value for it is refused. */
  required?: boolean;
  /** Its value is not for everybody's eyes: a secret of the account, rather than text. */
  secret?: boolean;
  /** Where the renter gives none, the service makes one that the account's keys are shown. */
  made?: boolean;
}

/** What a deploy has to know of its template. */
export interface TemplateTerms {
  slug: string;
  env: Record<string, string>;
  variables: readonly TemplateVariable[];
}

/** Refuses with invalid_request a launch that leaves a required variable of its template without a value. */
export function checkVariables({ slug, env, variables }: TemplateTerms, launch: Launch): void {
  const missing = variables
    .filter(({ required, made }) => required && !made)
    .filter(({ name }) => !isGivenAsSecret(launch, name) && !(launch.env?.[name] ?? env[name]));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(', ');
  throw new DomainError('invalid_request', `env must have a value for ${names}: the template ${slug} needs it`, {
    field: 'env',
  });
}

/** The variables that the service makes a value for: a renter who gives one, even an empty one, keeps it. */
export function variablesToMake({ variables }: TemplateTerms, launch: Launch): string[] {
  return variables
    .filter(({ made }) => made)
    .map(({ name }) => name)
    .filter((name) => !isGivenAsSecret(launch, name) && launch.env?.[name] === undefined);
}

function isGivenAsSecret({ secrets = [] }: Launch, name: string): boolean {
  return secrets.some(({ variable }) => variable === name);
}

const REFERENCE = /\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g;

/** Words with `$(NAME)` replaced by the variable's value; of one that is not there it stays, as in Kubernetes. */
export function withValues(words: readonly string[], env: Readonly<Record<string, string>>): string[] {
  return words.map((word) => word.replace(REFERENCE, (all, name: string) => variableIn(env, name) ?? all));
}

/**
 * The path that a template's port is opened at. Without the value of a variable that it names, what is before its query;
 * where the variable is named there, the root.
 */
export function pathWithValues(path: string, values: Readonly<Record<string, string>>): string {
  const isMissing = (name: string) => variableIn(values, name) === undefined;
  if (namesIn(path).some(isMissing)) {
    const [page = '/'] = path.split('?', 1);
    return namesIn(page).length === 0 ? page : '/';
  }
  return path.replace(REFERENCE, (_, name: string) => encodeURIComponent(variableIn(values, name)!));
}

/** The variables that a text names as `$(NAME)`. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map((match) => match[1]!);
}

function variableIn(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Whether an image always means the same: a digest, or a tag that does not move by its name. */
export function isPinned(image: string): boolean {
  if (image.includes('@')) return true;
  const tag = /:([^:/]+)$/.exec(image)?.[1];
  return tag !== undefined && !/(?:^|-)latest$/.test(tag);
}
