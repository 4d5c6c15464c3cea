import { DomainError } from '../../kernel/errors.js';

/** Matches the owner and the name as the hub accepts them. */
const PART = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?$/;
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const MUST = 'must be a name such as Qwen/Qwen2.5-7B-Instruct';

/**
 * Returns the name (`owner/name`) of a model that is given by its name or by the URL of one of its pages. Throws
 * invalid_request for anything else, including URLs of hosts other than `hub`.
 */
export function modelName(text: string, hub: string): string {
  const input = text.trim();
  const isUrl = HAS_SCHEME.test(input);
  const path = isUrl ? pathOf(input, hub) : input;
  const [owner = '', name = '', ...more] = path.split('/');
  if (!isName(owner) || !isName(name) || (!isUrl && more.length > 0)) throw refusal(hub);
  return `${owner}/${name}`;
}

function pathOf(input: string, hub: string): string {
  if (!URL.canParse(input)) throw refusal(hub);
  const { protocol, host, username, password, pathname } = new URL(input);
  const isOurs = /^https?:$/.test(protocol) && host === hub && username === '' && password === '';
  if (!isOurs) throw refusal(hub);
  return pathname.slice(1);
}

function isName(part: string): boolean {
  return PART.test(part) && !part.includes('..') && !part.includes('--');
}

function refusal(hub: string): DomainError {
  return new DomainError('invalid_request', `model ${MUST}, or its URL at ${hub}`, { field: 'model' });
}
