import type { SavedTemplate } from '../../database/generated/client/client.js';
import { inTransaction } from '../../database/transaction.js';
import type { InstanceDeps } from '../instances/deps.js';
import { instanceFields } from '../instances/fields.js';
import { type LaunchInput, readLaunch } from '../instances/launch.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional } from '../kernel/field.js';
import type { Launch } from '../kernel/launch.js';
import type { TemplateVariable } from '../kernel/template.js';
import { dateOf, formatInstant } from '../kernel/time.js';
import { templateFields } from './fields.js';
import { launchLink } from './rules/launch-link.js';

export const MAX_SAVED_TEMPLATES = 100;
/** Maximum size of a saved launch as JSON, in bytes. */
const MAX_SAVED_BYTES = 32_000;

export type { SavedTemplate };

export interface SavedTemplateInput {
  name: string;
  description?: string | null;
  template?: string | null;
  diskGb?: number | null;
  launch?: LaunchInput | null;
}

/** Returns up to 100 saved templates, sorted by name. */
export function savedTemplates(deps: Pick<KernelDeps, 'db'>, accountId: string): Promise<SavedTemplate[]> {
  return deps.db.prisma.savedTemplate.findMany({
    where: { accountId },
    orderBy: { name: 'asc' },
    take: MAX_SAVED_TEMPLATES,
  });
}

/**
 * Saves a launch under a name, replacing any template already saved under it. Its template and secrets are not checked
 * until it is deployed. Throws invalid_request, or action_failed if the account would have more than 100 saved
 * templates.
 */
export async function saveTemplate(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  input: SavedTemplateInput,
): Promise<SavedTemplate> {
  const name = check('name', templateFields.savedTemplateName, input.name);
  const description = checkOptional('description', templateFields.savedTemplateDescription, input.description) ?? '';
  const template = checkOptional('template', instanceFields.template, input.template);
  const diskGb = checkOptional('diskGb', instanceFields.diskGb, input.diskGb);
  const launch = JSON.stringify(readLaunch(input.launch, 'ON_DEMAND') ?? {});
  if (Buffer.byteLength(launch) > MAX_SAVED_BYTES)
    throw new DomainError('invalid_request', `launch is too large to save: the limit is ${MAX_SAVED_BYTES} bytes`, {
      field: 'launch',
    });
  const now = deps.clock.now();
  await inTransaction(deps.db.pool, async (transaction) => {
    // Locks the account's row before counting, so that two concurrent additions can't both become the hundredth.
    await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
    const { rowCount } = await transaction.query(
      `insert into saved_template (account_id, name, description, template, disk_gb, launch, created_at)
       select $1, $2, $3, $4, $5, $6::jsonb, $7::timestamptz
       where (select count(*) from saved_template where account_id = $1 and name <> $2) < $8
       on conflict (account_id, name) do update set description = excluded.description, template = excluded.template,
         disk_gb = excluded.disk_gb, launch = excluded.launch, created_at = excluded.created_at`,
      [accountId, name, description, template, diskGb, launch, formatInstant(now), MAX_SAVED_TEMPLATES],
    );
    if (rowCount === 0)
      throw new DomainError(
        'action_failed',
        `the account has ${MAX_SAVED_TEMPLATES} saved templates, the maximum; delete one first`,
      );
  });
  return { accountId, name, description, template, diskGb, launch: JSON.parse(launch), createdAt: dateOf(now) };
}

/** Deletes a saved template. Instances deployed from it are not affected. Throws not_found. */
export async function deleteTemplate(
  deps: Pick<KernelDeps, 'db'>,
  accountId: string,
  name: string,
): Promise<SavedTemplate> {
  // PostgreSQL can't search for a string that contains NUL.
  const isName = templateFields.savedTemplateName.schema.safeParse(name).success;
  const found = isName
    ? await deps.db.prisma.savedTemplate.findUnique({ where: { accountId_name: { accountId, name } } })
    : null;
  if (found === null) throw new DomainError('not_found', 'no such template');
  await deps.db.prisma.savedTemplate.deleteMany({ where: { accountId, name } });
  return found;
}

/** Returns a link that opens the console's deploy dialog with these settings. Secrets are omitted. */
export async function linkOf(
  deps: Pick<InstanceDeps, 'settings' | 'inventory'>,
  saved: Pick<SavedTemplate, 'template' | 'diskGb' | 'launch'>,
): Promise<string> {
  const found = await deps.inventory.template(saved.template);
  const known = found && { vramGb: found.vramGb, variables: found.variables as unknown as TemplateVariable[] };
  return launchLink(deps.settings.publicUrl, { ...saved, launch: saved.launch as Launch }, known);
}
