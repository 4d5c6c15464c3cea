import { z } from 'zod';
import { instanceFields } from '../instances/fields.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { FileRecord, ImportReport } from '../kernel/import.js';
import { isPinned, MAX_TEMPLATE_PORTS, MAX_TEMPLATE_VARIABLES, namesIn, PICTURES } from '../kernel/template.js';
import { isWebPath } from '../kernel/web-site.js';
import { importRows, SLUG } from './catalogue-import.js';

const MAX_WORDS = 100;
const MAX_WORD = 4_000;
const MAX_ENV = 100;
const MAX_PATH = 500;
const MAX_VRAM_GB = 10_000;
const PORTS_MUST = `must be up to ${MAX_TEMPLATE_PORTS} ports, such as 8888:JupyterLab 22, or a JSON list of them if a name has spaces`;
const VRAM_MUST = `must be a whole number of GB from 1 to ${MAX_VRAM_GB}, or empty`;
const PATH_MUST = `must be a path of 1 to ${MAX_PATH} visible characters that starts with a single slash`;
const ENV_MUST = 'must be a JSON object of strings by name, such as {"MODE":"fast"}';
const COMMAND_MUST =
  'must be a JSON list of arguments, such as ["python","-m","http.server"], or empty for the image\'s own';
const VARIABLES_MUST = `must be a JSON list of up to ${MAX_TEMPLATE_VARIABLES} variables, such as [{"name":"MODEL","description":"What it serves","default":"a/b","required":true}]`;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const PORT = /^(\d{1,5})(?::(.{1,40}))?$/;
/** Names that a variable can't have. Except for `__proto__`, these are variables set by the service itself. */
const TAKEN = /^(GPU_INSTANCE_ID|GPU_COUNT|SSH_PUBLIC_KEYS|__proto__)$/;

const word = z
  .string()
  .max(MAX_WORD)
  .regex(/^[^\0]*$/);
const line = (most: number) =>
  z
    .string()
    .min(1, 'is missing')
    .max(most, `is longer than ${most} characters`)
    .regex(/^\P{Cc}*$/u, 'must be one line');
/** Makes a field optional. In CSV, an empty cell counts as omitted. */
const optional = <T>(schema: z.ZodType<T>) => z.preprocess((value) => (value === '' ? undefined : value), schema);

const port = z.string(PORTS_MUST).transform((text, context) => {
  const [, number, name = null] = PORT.exec(text) ?? [];
  const parsed = Number(number);
  if (parsed >= 1 && parsed <= 65_535) return { port: parsed, name };
  context.addIssue({ code: 'custom', message: PORTS_MUST });
  return z.NEVER;
});

const variable = z
  .strictObject({
    name: z.string(VARIABLES_MUST).regex(ENV_NAME, VARIABLES_MUST),
    description: line(200),
    default: word.optional(),
    required: z.boolean(VARIABLES_MUST).optional(),
    secret: z.boolean(VARIABLES_MUST).optional(),
    made: z.boolean(VARIABLES_MUST).optional(),
  })
  .refine(({ name }) => !TAKEN.test(name), 'must not name a variable that the service sets')
  .refine((each) => !(each.secret || each.made) || each.default === undefined, 'must not give a secret a default')
  .refine(({ secret, made }) => !made || secret !== false, 'must not have generated variables with secret false');

/** A row in an operator's file or the built-in catalogue. */
export const templateRow = z
  .object({
    slug: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lowercase words joined by hyphens'),
    image: z
      .string()
      .regex(/./, 'is missing')
      .pipe(instanceFields.template.schema)
      .pipe(z.string().refine(isPinned, 'must be pinned: a digest, or a tag other than latest')),
    description: line(200),
    title: optional(line(60).default('')),
    category: optional(line(40).default('')),
    picture: optional(z.enum(PICTURES, `must be one of ${PICTURES.join(', ')}`).default('box')),
    vram_gb: optional(
      z.coerce.number(VRAM_MUST).int(VRAM_MUST).min(1, VRAM_MUST).max(MAX_VRAM_GB, VRAM_MUST).nullable().default(null),
    ),
    ports: z.preprocess(portTexts, z.array(port, PORTS_MUST).max(MAX_TEMPLATE_PORTS, PORTS_MUST)),
    path: optional(z.string(PATH_MUST).max(MAX_PATH, PATH_MUST).refine(isWebPath, PATH_MUST).default('/')),
    env: z.preprocess(
      (value) => fromText(value) ?? {},
      z
        .record(z.string().regex(ENV_NAME), word, ENV_MUST)
        .refine((env) => Object.keys(env).length <= MAX_ENV, `must have at most ${MAX_ENV} names`),
    ),
    command: z.preprocess(
      (value) => fromText(value) ?? null,
      z.array(word, COMMAND_MUST).min(1, COMMAND_MUST).max(MAX_WORDS, COMMAND_MUST).nullable(),
    ),
    variables: z.preprocess(
      (value) => fromText(value) ?? [],
      z.array(variable, VARIABLES_MUST).max(MAX_TEMPLATE_VARIABLES, VARIABLES_MUST),
    ),
  })
  .superRefine(({ env, path, variables }, context) => {
    const names = variables.map(({ name }) => name);
    const fault = (message: string) => context.addIssue({ code: 'custom', path: ['variables'], message });
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) fault(`must not name ${repeated} twice`);
    const both = variables.find((each) => each.name in env && (each.default !== undefined || each.secret || each.made));
    if (both !== undefined) fault(`must not give ${both.name} a default or mark it secret or made, because env has it`);
    const unknown = namesIn(path).find((name) => !names.includes(name) && !(name in env));
    if (unknown !== undefined)
      context.addIssue({ code: 'custom', path: ['path'], message: `names an unknown variable ${unknown}` });
  });

export const TEMPLATE_COLUMNS = ['slug', 'image', 'description'];
export const MORE_TEMPLATE_COLUMNS = Object.keys(templateRow.shape).filter((name) => !TEMPLATE_COLUMNS.includes(name));

/**
 * Creates or updates templates by slug, either all of them or none. Existing instances keep the values they were
 * deployed with.
 */
export function importTemplates(
  deps: Pick<KernelDeps, 'db'>,
  records: AsyncIterable<FileRecord>,
  dryRun: boolean,
): Promise<ImportReport> {
  return importRows(deps, records, dryRun, {
    table: 'template',
    key: 'slug',
    schema: templateRow,
    dataOf: templateData,
  });
}

/** Converts a file row to a table row. The variables' defaults become the template's environment. */
export function templateData({ vram_gb, ports, env, command, variables, ...rest }: z.output<typeof templateRow>) {
  const defaults = variables.flatMap((each) => (each.default === undefined ? [] : [[each.name, each.default]]));
  return {
    ...rest,
    vramGb: vram_gb,
    ports: ports.map((each) => each.port),
    portNames: Object.fromEntries(ports.filter(({ name }) => name !== null).map((each) => [each.port, each.name])),
    env: { ...env, ...Object.fromEntries(defaults) },
    command,
    variables: variables.map(({ default: _, ...each }) => ({ ...each, ...(each.made && { secret: true }) })),
  };
}

/**
 * Returns the ports as strings. They are given in a CSV cell, or as a list that can contain numbers as well as objects
 * with a port and a name.
 */
function portTexts(value: unknown): unknown {
  const parsed = typeof value === 'string' && value.startsWith('[') ? fromText(value) : value;
  if (typeof parsed === 'string') return parsed.split(/[\s,]+/).filter((text) => text !== '');
  if (!Array.isArray(parsed)) return parsed ?? [];
  return parsed.map((each: unknown) => {
    if (typeof each === 'number') return String(each);
    const { port, name } = (each ?? {}) as { port?: unknown; name?: unknown };
    return port === undefined ? each : `${port}${name == null ? '' : `:${name}`}`;
  });
}

/** Parses JSON in a CSV cell. Returns invalid JSON unchanged, so that the schema rejects it. */
function fromText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value === '') return null;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
