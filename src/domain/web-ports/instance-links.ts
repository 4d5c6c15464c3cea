import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import { pathWithValues } from '../kernel/template.js';
import { tokensOf } from '../secrets/generated-tokens.js';
import { webPortFields } from './fields.js';
import { liveInstance } from './open-ports.js';
import { firstPortOf, PORTS_SELECT, portsOfInstance } from './ports.js';

/** A named port and its URL. */
export interface InstanceLink {
  name: string;
  port: number;
  /** Path to open. Includes the token that the page requires, if the page accepts one in its URL. */
  path: string;
  /** URL of the port with that path. A private port also requires the cookie from a webLink. */
  url: string;
  isOpen: boolean;
}

/** A value generated for the instance. */
export interface GeneratedToken {
  variable: string;
  value: string;
  /** Whether one of the links already includes this value. */
  isInLink: boolean;
}

export interface InstanceLinks {
  links: InstanceLink[];
  tokens: GeneratedToken[];
}

/**
 * Returns links to the programs in one of the account's instances, along with the values generated when it was
 * deployed. Throws not_found or action_failed.
 */
export async function instanceLinks(
  deps: SettlingDeps & Pick<KernelDeps, 'sealingKeys'>,
  accountId: string,
  id: string,
): Promise<InstanceLinks> {
  await liveInstance(deps, accountId, id);
  const row = await deps.db.prisma.instance.findFirstOrThrow({
    where: { id, accountId },
    select: { ...PORTS_SELECT, container: { select: { ...PORTS_SELECT.container.select, path: true, env: true } } },
  });
  if (row.container === null) return { links: [], tokens: [] };
  const { path, env } = row.container;
  const tokens = await tokensOf(deps, accountId, id);
  const filled = pathWithValues(path, { ...(env as Record<string, string>), ...tokens });
  // A value chosen by the renter may be too long for a web link, in which case the page prompts for it.
  const opened = webPortFields.webPath.schema.safeParse(filled).success ? filled : pathWithValues(path, {});
  const first = firstPortOf(row.container);
  const links = portsOfInstance(deps.settings, row).flatMap(({ port, name, url, isOpen }) => {
    if (name === null) return [];
    const at = port === first ? opened : '/';
    return [{ name, port, path: at, url: url + at, isOpen }];
  });
  return {
    links,
    tokens: Object.entries(tokens).map(([variable, value]) => ({
      variable,
      value,
      isInLink: links.some((link) => link.path.includes(value)),
    })),
  };
}
