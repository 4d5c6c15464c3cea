import { DomainError } from './errors.js';
import type { Launch } from './launch.js';

/** Maximum variables of one template. */
export const MAX_TEMPLATE_VARIABLES = 30;
/** Maximum ports of one template. */
export const MAX_TEMPLATE_PORTS = 20;
/** Names of template pictures; the console has an image for each. */
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

/** A variable that a template's image reads. Its default is in the template's environment. */
export interface TemplateVariable {
  name: string;
  description: string;
  /** Whether a deploy without a value for it is refused. */
  required?: boolean;
  /** Whether its value is confidential: a secret of the account, rather than text. */
  secret?: boolean;
  /** Whether the service generates a value if the renter gives none; the account's keys can read it. */
  made?: boolean;
}

/** Data of a template that a deploy needs. */
export interface TemplateTerms {
  slug: string;
  env: Record<string, string>;
  variables: readonly TemplateVariable[];
}

/** Refuses with invalid_request a launch without a value for a required variable of its template. */
export function checkVariables({ slug, env, variables }: TemplateTerms, launch: Launch): void {
  const missing = variables
    .filter(({ required, made }) => required && !made)
    .filter(({ name }) => !isGivenAsSecret(launch, name) && !(launch.env?.[name] ?? env[name]));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(', ');
  throw new DomainError('invalid_request', `env must have a value for ${names}, which the template ${slug} needs`, {
    field: 'env',
  });
}

/** Returns the variables to generate a value for: a value given by the renter is kept, even an empty one. */
export function variablesToGenerate({ variables }: TemplateTerms, launch: Launch): string[] {
  return variables
    .filter(({ made }) => made)
    .map(({ name }) => name)
    .filter((name) => !isGivenAsSecret(launch, name) && launch.env?.[name] === undefined);
}

function isGivenAsSecret({ secrets = [] }: Launch, name: string): boolean {
  return secrets.some(({ variable }) => variable === name);
}

const REFERENCE = /\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g;

/** Replaces `$(NAME)` in arguments by the variable's value; an unknown name is kept, as in Kubernetes. */
export function withValues(args: readonly string[], env: Readonly<Record<string, string>>): string[] {
  return args.map((arg) => arg.replace(REFERENCE, (all, name: string) => variableIn(env, name) ?? all));
}

/**
 * Returns the path that a template's port is opened at. If a variable that it names has no value, only the part before
 * its query; if the variable is named there, the root.
 */
export function pathWithValues(path: string, values: Readonly<Record<string, string>>): string {
  const isMissing = (name: string) => variableIn(values, name) === undefined;
  if (namesIn(path).some(isMissing)) {
    const [page = '/'] = path.split('?', 1);
    return namesIn(page).length === 0 ? page : '/';
  }
  return path.replace(REFERENCE, (_, name: string) => encodeURIComponent(variableIn(values, name)!));
}

/** Returns the variables that a text names as `$(NAME)`. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map((match) => match[1]!);
}

function variableIn(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Whether an image always means the same: a digest, or a tag that by its name does not move. */
export function isPinned(image: string): boolean {
  if (image.includes('@')) return true;
  const tag = /:([^:/]+)$/.exec(image)?.[1];
  return tag !== undefined && !/(?:^|-)latest$/.test(tag);
}
