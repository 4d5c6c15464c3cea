import { DomainError } from './errors.js';
import type { Launch } from './launch.js';

/** Maximum number of variables per template. */
export const MAX_TEMPLATE_VARIABLES = 30;
/** Maximum number of ports per template. */
export const MAX_TEMPLATE_PORTS = 20;
/** Names of template pictures. The console has an image for each. */
export const PICTURES = [
  'bolt',
  'box',
  'chat',
  'chip',
  'code',
  'flame',
  'image',
  'layers',
  'nodes',
  'notebook',
  'scene',
  'server',
  'spark',
  'terminal',
  'tune',
] as const;

/** A variable read by a template's image. Its default value is in the template's environment. */
export interface TemplateVariable {
  name: string;
  description: string;
  /** Whether a deploy is rejected if it has no value for the variable. */
  required?: boolean;
  /** Whether the value is confidential. If so, it is given as one of the account's secrets rather than as text. */
  secret?: boolean;
  /**
   * Whether the service generates a value if the renter doesn't provide one. The account's API keys can read the
   * generated value.
   */
  made?: boolean;
}

/** The parts of a template needed for a deploy. */
export interface TemplateTerms {
  slug: string;
  env: Record<string, string>;
  variables: readonly TemplateVariable[];
}

/** Throws invalid_request if the launch has no value for a variable required by its template. */
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

/** Returns the variables that need a generated value. Values given by the renter are kept, even if they are empty. */
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

/**
 * Replaces each `$(NAME)` in the arguments with the variable's value. Unknown names are left unchanged, as in
 * Kubernetes.
 */
export function withValues(args: readonly string[], env: Readonly<Record<string, string>>): string[] {
  return args.map((arg) => arg.replace(REFERENCE, (all, name: string) => variableIn(env, name) ?? all));
}

/**
 * Returns the path at which a template's port is opened. If a variable in the path has no value, returns only the part
 * before the query, or the root if that part also contains variables.
 */
export function pathWithValues(path: string, values: Readonly<Record<string, string>>): string {
  let isComplete = true;
  const filled = path.replace(REFERENCE, (_, name: string) => {
    const value = variableIn(values, name);
    if (value === undefined) isComplete = false;
    return value === undefined ? '' : encodeURIComponent(value);
  });
  if (isComplete) return filled;
  const [page = '/'] = path.split('?', 1);
  return namesIn(page).length === 0 ? page : '/';
}

/** Returns the names of the variables that a text refers to as `$(NAME)`. */
export function namesIn(text: string): string[] {
  return Array.from(text.matchAll(REFERENCE), ([, name = '']) => name);
}

function variableIn(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/**
 * Whether an image reference always refers to the same content, because it has a digest or a tag whose name suggests
 * that it is never moved.
 */
export function isPinned(image: string): boolean {
  if (image.includes('@')) return true;
  const tag = /:([^:/]+)$/.exec(image)?.[1];
  return tag !== undefined && !/(?:^|-)latest$/.test(tag);
}
