import type { Deps } from '../deps.js';
import { fields } from '../fields.js';
import { pathWithValues } from '../rules/template.js';
import { tokensOf } from '../secrets/generated-tokens.js';
import { liveInstance } from './open-ports.js';
import { firstPortOf, PORTS_SELECT, portsOfInstance } from './ports.js';

/** A named port with its address. */
export interface InstanceLink {
  name: string;
  port: number;
  /** Includes the token that the page requires, if it takes one from its address. */
  path: string;
  /** URL with the path. A private port needs the cookie of a webLink. */
  url: string;
  isOpen: boolean;
}

/** A value generated for the instance. */
export interface GeneratedToken {
  variable: string;
  value: string;
  /** Whether a link already includes it. */
  isInLink: boolean;
}

export interface InstanceLinks {
  links: InstanceLink[];
  tokens: GeneratedToken[];
}

/**
 * Returns links to the programs in the account's instance, and the values generated at its deploy. Refuses with
 * not_found and action_failed.
 */
export async function instanceLinks(deps: Deps, accountId: string, id: string): Promise<InstanceLinks> {
  await liveInstance(deps, accountId, id);
  const row = await deps.db.prisma.instance.findFirstOrThrow({
    where: { id, accountId },
    select: { ...PORTS_SELECT, container: { select: { ...PORTS_SELECT.container.select, path: true, env: true } } },
  });
  if (row.container === null) return { links: [], tokens: [] };
  const { path, env } = row.container;
  const tokens = await tokensOf(deps, accountId, id);
  const filled = pathWithValues(path, { ...(env as Record<string, string>), ...tokens });
  // The renter's own value may be too long for a web link. Then the page asks for it.
  const opened = fields.webPath.schema.safeParse(filled).success ? filled : pathWithValues(path, {});
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
