import dns, { type LookupAddress, type LookupOptions, Resolver } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';

/** Time limit for looking up a name, including all candidates from the search list. */
const WITHIN_MS = 4_000;
/** Time after which a server that hasn't responded is queried once more. */
const TRY_MS = 1_200;
const TRIES = 2;
/** Maximum time that one family's addresses wait for the other's. */
const OTHER_FAMILY_MS = 300;
/** Maximum number of concurrent lookups. */
const MAX_NAMES = 256;
/**
 * Maximum number of concurrent lookups by the system. Each one occupies a thread in libuv's pool, which runs at most
 * two of them at a time.
 */
const MAX_SYSTEM = 2;
/** Maximum number of domains in the search list (see resolv.conf(5)). */
const MAX_SEARCH = 6;
const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** Like `dns.lookup` with `all`. */
export type LookupAll = (
  host: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface NameLookupOptions {
  /** DNS servers that replace those in resolv.conf. */
  servers?: readonly string[];
  hostsFile?: string;
  resolvConf?: string;
  /** Fallback for names that DNS doesn't know, such as mDNS names. Null means no fallback. */
  system?: LookupAll | null;
  withinMs?: number;
}

const systemLookup: LookupAll = dns.lookup;

/**
 * Creates a function that looks up names in /etc/hosts and DNS, outside libuv's thread pool and with the search list of
 * resolv.conf. If no server responds for a name, its lookup fails with EAI_AGAIN without delaying anything else. In
 * contrast, `dns.lookup` would occupy a thread until the system times out, and it can't be cancelled.
 */
export function createNameLookup({
  servers,
  hostsFile = '/etc/hosts',
  resolvConf = '/etc/resolv.conf',
  system = null,
  withinMs = WITHIN_MS,
}: NameLookupOptions = {}): LookupAll {
  const hosts = new CachedFile(hostsFile, readHosts);
  const search = new CachedFile(resolvConf, readSearch);
  const inFlight = new Map<string, Promise<LookupAddress[]>>();
  let ofSystem = 0;

  const find = async (host: string): Promise<LookupAddress[]> => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const known = hosts.read()?.get(name);
    if (known !== undefined) return known;
    if (name === 'localhost' || name.endsWith('.localhost')) return [...LOOPBACK];
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const late = setTimeout(() => resolver.cancel(), withinMs);
    let hasFailed = false;
    try {
      for (const candidate of candidatesOf(host.toLowerCase(), search.read() ?? { domains: [], ndots: 1 })) {
        const found = await resolve(resolver, candidate).catch((error: NodeJS.ErrnoException) => {
          if (SILENT.has(error.code ?? '')) throw fault('EAI_AGAIN', host);
          // A server may fail for one domain in the search list but know the next candidate.
          hasFailed = true;
          return [];
        });
        if (found.length > 0) return found;
      }
    } finally {
      clearTimeout(late);
      resolver.cancel();
    }
    // If no DNS server is configured, the system may have other sources.
    if (system === null) throw fault(hasFailed ? 'EAI_AGAIN' : 'ENOTFOUND', host);
    if (ofSystem >= MAX_SYSTEM) throw fault('EAI_AGAIN', host);
    ofSystem += 1;
    return new Promise<LookupAddress[]>((resolve, reject) => {
      system(host, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
    }).finally(() => {
      ofSystem -= 1;
    });
  };

  return (host, _options, done) => {
    let found = inFlight.get(host);
    if (found === undefined) {
      if (inFlight.size >= MAX_NAMES) return void process.nextTick(done, fault('EAI_AGAIN', host), []);
      found = find(host).finally(() => inFlight.delete(host));
      inFlight.set(host, found);
    }
    // An error thrown by the callback is not a lookup error.
    found.then(
      (addresses) => process.nextTick(done, null, addresses),
      (error) => process.nextTick(done, error, []),
    );
  };
}

/** Replaces `dns.lookup` for every connection in this thread, regardless of which library opens it. */
export function installNameLookup(): void {
  const lookup = createNameLookup({ system: systemLookup });
  const installed = (
    host: string,
    optionsOrDone: LookupOptions | number | ((...found: unknown[]) => void),
    then?: (...found: unknown[]) => void,
  ): void => {
    const options =
      typeof optionsOrDone === 'object'
        ? optionsOrDone
        : typeof optionsOrDone === 'number'
          ? { family: optionsOrDone }
          : {};
    const done = (typeof optionsOrDone === 'function' ? optionsOrDone : then)!;
    const family = isIP(host ?? '');
    if (!host || family !== 0) {
      // IP addresses need no lookup.
      (systemLookup as (...args: unknown[]) => void)(host, options, done);
      return;
    }
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) return done(error);
      const wanted = found.filter((each) => !options.family || each.family === familyOf(options.family));
      const [first] = wanted;
      if (first === undefined) done(fault('ENOTFOUND', host));
      else if (options.all) done(null, wanted);
      else done(null, first.address, first.family);
    });
  };
  dns.lookup = Object.assign(installed, { __promisify__: dns.lookup.__promisify__ }) as unknown as typeof dns.lookup;
  syncBuiltinESMExports();
}

function familyOf(family: NonNullable<LookupOptions['family']>): number {
  return family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family;
}

/**
 * Resolves to the addresses of both families, IPv4 first, or to an empty list for an unknown name. Rejects if no server
 * responds.
 */
async function resolve(resolver: Resolver, name: string): Promise<LookupAddress[]> {
  const found: LookupAddress[][] = [[], []];
  const families = ([4, 6] as const).map(async (family, index) => {
    found[index] = await addressesOf(resolver, name, family);
  });
  const all = Promise.all(families);
  const enough = families.map(async (family, index) => {
    await family;
    if (found[index]!.length > 0) await new Promise((wait) => setTimeout(wait, OTHER_FAMILY_MS));
    else await all;
  });
  // The lookup for one family may fail although the other has addresses.
  await Promise.any([all, ...enough]).catch(({ errors }: AggregateError) => {
    throw errors[0];
  });
  return found.flat();
}

/** Resolves to one family's addresses, or to an empty list for an unknown name. */
function addressesOf(resolver: Resolver, name: string, family: 4 | 6): Promise<LookupAddress[]> {
  return new Promise((take, reject) => {
    const done = (error: NodeJS.ErrnoException | null, addresses: string[]) => {
      if (error === null) take(addresses.map((address) => ({ address, family })));
      else if (MISSING.has(error.code ?? '')) take([]);
      else reject(error);
    };
    if (family === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  });
}

const MISSING = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
/**
 * Errors for servers that don't respond. After one of them, the system isn't queried, because it would wait for the
 * same servers.
 */
const SILENT = new Set(['ETIMEOUT', 'ECANCELLED']);

/** Returns a name's candidates in the order defined by resolv.conf(5). */
function candidatesOf(name: string, { domains, ndots }: Search): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const longer = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= ndots ? [name, ...longer] : [...longer, name];
}

interface Search {
  domains: string[];
  ndots: number;
}

/** Parses resolv.conf. The last `search` or `domain` line applies, as does the last `ndots`. */
function readSearch(text: string): Search {
  const search: Search = { domains: [], ndots: 1 };
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*/, '')
      .trim()
      .toLowerCase()
      .split(/\s+/);
    if (word === 'search' || word === 'domain')
      search.domains = rest
        .map((domain) => domain.replace(/\.$/, ''))
        .filter(Boolean)
        .slice(0, MAX_SEARCH);
    const ndots = word === 'options' && rest.map((option) => /^ndots:(\d{1,2})$/.exec(option)?.[1]).findLast(Boolean);
    if (ndots) search.ndots = Number(ndots);
  }
  return search;
}

function readHosts(text: string): Map<string, LookupAddress[]> {
  const found = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names) found.set(name, [...(found.get(name) ?? []), { address, family }]);
  }
  return found;
}

/**
 * Caches a small file's content, and reads it again when the file changes. The content is null if the file is missing.
 */
class CachedFile<T> {
  readonly #path: string;
  readonly #parse: (text: string) => T;
  #cached: { version: string; content: T } | null = null;

  constructor(path: string, parse: (text: string) => T) {
    this.#path = path;
    this.#parse = parse;
  }

  read(): T | null {
    try {
      const { mtimeMs, size, ino } = statSync(this.#path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (this.#cached?.version !== version)
        this.#cached = { version, content: this.#parse(readFileSync(this.#path, 'utf8')) };
      return this.#cached.content;
    } catch {
      return null;
    }
  }
}

function fault(code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, syscall: 'getaddrinfo', hostname });
}
