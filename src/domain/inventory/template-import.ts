import { z } from 'zod';
import { Prisma } from '../../database/database.js';
import type { Deps } from '../deps.js';
import { fields } from '../fields.js';
import type { FileRecord, ImportReport } from '../import.js';
import { importRows, SLUG } from './catalogue-import.js';

const MAX_PORTS = 100;
const MAX_WORDS = 100;
const MAX_WORD = 4_000;
const MAX_ENV = 100;
const PORTS_MUST = `must be up to ${MAX_PORTS} port numbers, such as 8888 22`;
const ENV_MUST = 'must be a JSON object of texts by name, such as {"MODE":"fast"}';
const COMMAND_MUST = 'must be a JSON list of words, such as ["python","-m","http.server"]; empty: the image\'s own';
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

const word = z
  .string()
  .max(MAX_WORD)
  .regex(/^[^\0]*$/);
const port = z.coerce.number().int().min(1).max(65_535);

const templateRow = z.object({
  slug: z.string().max(64, 'is longer than 64 characters').regex(SLUG, 'must be lower-case words joined by hyphens'),
  image: z.string().regex(/./, 'is missing').pipe(fields.template.schema),
  description: z.string().min(1, 'is missing').max(200, 'is longer than 200 characters'),
  ports: z.preprocess(
    (value) => (typeof value === 'string' ? value.split(/[\s,]+/).filter((text) => text !== '') : (value ?? [])),
    z.array(port, PORTS_MUST).max(MAX_PORTS, PORTS_MUST),
  ),
  env: z.preprocess(
    (value) => fromText(value) ?? {},
    z
      .record(z.string().regex(ENV_NAME), word, ENV_MUST)
      .refine((env) => Object.keys(env).length <= MAX_ENV, `has at most ${MAX_ENV} names`),
  ),
  command: z.preprocess(
    (value) => fromText(value) ?? null,
    z.array(word, COMMAND_MUST).min(1, COMMAND_MUST).max(MAX_WORDS, COMMAND_MUST).nullable(),
  ),
});

export const TEMPLATE_COLUMNS = Object.keys(templateRow.shape);

/** Creates or updates templates by slug, all or none. Deployed instances keep the values they were deployed with. */
export function importTemplates(
  deps: Deps,
  records: AsyncIterable<FileRecord>,
  dryRun: boolean,
): Promise<ImportReport> {
  return importRows(deps, records, templateRow, dryRun, async (tx, { slug, command, ...rest }, position) => {
    const data = { ...rest, command: command ?? Prisma.DbNull };
    const known = await tx.template.findUnique({ where: { slug } });
    if (known === null) await tx.template.create({ data: { slug, position, ...data } });
    else await tx.template.update({ where: { slug }, data });
    return known === null;
  });
}

/** A CSV holds JSON as text; what can't be read is left for the shape to refuse. */
function fromText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value === '') return null;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
