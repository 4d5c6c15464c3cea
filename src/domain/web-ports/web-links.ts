import { randomBytes } from 'node:crypto';
import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { webPortFields } from './fields.js';
import { liveInstance } from './open-ports.js';
import { firstPortOf, type PortsRow, webUrlOf } from './ports.js';
import { WEB_TOKEN_HEADER } from './rules/web-headers.js';
import { COOKIE_SECONDS, hashWebPass, LINK_SECONDS, MAX_PASSES_OF_INSTANCE, WEB_PASS_BYTES } from './rules/web-pass.js';

/** Path of a link on an instance's host. It is served by the gateway itself. */
export const LINK_PATH = '/.gpu/open';

export interface WebLink {
  url: string;
  expiresAt: Instant;
}

export interface WebLinkInput {
  id: string;
  /** Null selects the instance's first port. */
  port?: number | null | undefined;
  /** Path that the link opens. */
  path?: string | null | undefined;
}

/**
 * Creates a link that grants one browser access to a private port. The link can be used once, within one minute. Both
 * the link and the cookie that replaces it become invalid along with the API key.
 */
export async function createWebLink(
  deps: SettlingDeps,
  caller: { accountId: string; keyId: string },
  input: WebLinkInput,
): Promise<WebLink> {
  const path = check('path', webPortFields.webPath, input.path ?? '/');
  const { pass, address, expiresAt } = await createPass(deps, caller, input, true);
  const query = new URLSearchParams({ pass, ...(path !== '/' && { path }) });
  return { url: `${address}${LINK_PATH}?${query}`, expiresAt };
}

export interface WebToken {
  token: string;
  /** Header that the program must send the token in. */
  header: string;
  /** URL that the token gives access to. */
  url: string;
  expiresAt: Instant;
}

/**
 * Creates a token that grants a program access to a private port. It is valid for as long as a browser's cookie would
 * be, and becomes invalid along with the API key.
 */
export async function createWebToken(
  deps: SettlingDeps,
  caller: { accountId: string; keyId: string },
  input: Omit<WebLinkInput, 'path'>,
): Promise<WebToken> {
  const { pass, address, expiresAt } = await createPass(deps, caller, input, false);
  return { token: pass, header: WEB_TOKEN_HEADER, url: address, expiresAt };
}

async function createPass(
  deps: SettlingDeps,
  caller: { accountId: string; keyId: string },
  input: Omit<WebLinkInput, 'path'>,
  isLink: boolean,
): Promise<{ pass: string; address: string; expiresAt: Instant }> {
  const requested = input.port == null ? null : check('port', webPortFields.port, input.port);
  const { id } = await liveInstance(deps, caller.accountId, input.id);
  const { rows } = await deps.db.pool.query<PortsRow>({
    name: 'ports-of-container',
    text: 'select ports, image_ports as "imagePorts" from container where instance_id = $1',
    values: [id],
  });
  if (rows[0] === undefined)
    throw new DomainError('action_failed', 'the instance has no container, so it has no ports');
  const port = requested ?? firstPortOf(rows[0]);
  if (port === null) {
    throw new DomainError(
      'action_failed',
      'port is required, because neither the template nor the image declares one',
      { field: 'port' },
    );
  }
  const pass = newPass();
  const now = deps.clock.now();
  const expiresAt = now + (isLink ? LINK_SECONDS : COOKIE_SECONDS);
  await deps.db.pool.query({
    name: 'insert-web-pass',
    text: INSERT_PASS,
    values: [hashWebPass(pass), id, port, caller.keyId, formatInstant(now), formatInstant(expiresAt), isLink],
  });
  return { pass, address: webUrlOf(deps.settings, id, port === firstPortOf(rows[0]) ? null : port), expiresAt };
}

/**
 * Exchanges a link for a cookie value if it is opened on its own host. Returns null on any other host, or if the link
 * has already been used.
 */
export async function exchangeWebLink(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  link: string,
  instanceId: string,
  port: number,
): Promise<string | null> {
  const hash = hashWebPass(link);
  if (hash === null) return null;
  const cookie = newPass();
  const now = deps.clock.now();
  const { rowCount } = await deps.db.pool.query({
    name: 'exchange-web-link',
    text: EXCHANGE_LINK,
    values: [hash, hashWebPass(cookie), instanceId, port, formatInstant(now), formatInstant(now + COOKIE_SECONDS)],
  });
  return rowCount === 1 ? cookie : null;
}

function newPass(): string {
  return randomBytes(WEB_PASS_BYTES).toString('base64url');
}

/** Also removes expired passes, and this instance's oldest passes beyond the limit. */
const INSERT_PASS = `
  with expired as (
    delete from web_pass where hash in (
      select hash from web_pass where expires_at <= $5::timestamptz limit 1000 for update skip locked)
  ), oldest as (
    delete from web_pass where hash in (
      select hash from web_pass where instance_id = $2 and expires_at > $5::timestamptz
      order by created_at desc, hash offset ${MAX_PASSES_OF_INSTANCE - 1} for update skip locked)
  )
  insert into web_pass (hash, is_link, instance_id, port, key_id, created_at, expires_at)
  values ($1, $7, $2, $3, $4, $5::timestamptz, $6::timestamptz)`;

const EXCHANGE_LINK = `
  with link as (
    delete from web_pass where hash = $1 and is_link and instance_id = $3 and port = $4 and expires_at > $5::timestamptz
    returning key_id
  )
  insert into web_pass (hash, is_link, instance_id, port, key_id, created_at, expires_at)
  select $2, false, $3, $4, key_id, $5::timestamptz, $6::timestamptz
  from link join api_key on api_key.id = key_id join account on account.id = account_id
  where revoked_at is null and suspended_at is null and (api_key.expires_at is null or api_key.expires_at > $5::timestamptz)`;
