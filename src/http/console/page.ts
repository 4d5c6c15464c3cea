import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { extname, join, posix, relative, sep } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import Negotiator from 'negotiator';
import { contentHash } from '../content-hash.js';
import { preferredType } from '../preferred-type.js';
import { named, refuseOtherMethods } from '../routing.js';
import { ACCENT_PATH, accentStyle, type Brand, brandedPage, LOGO_PATH, LOGO_POLICY, NO_BRAND } from './brand.js';
import { readSessionCookie } from './session-cookie.js';

/** The console's screens. Each has its own URL, but they all share one page. */
export const SCREENS = [
  '/machines',
  '/models',
  '/deploy',
  '/launch',
  '/sign-in',
  '/instances',
  '/instances/:id',
  '/volumes',
  '/billing',
  '/keys',
  '/activity',
  '/notifications',
];
/** Former URLs of screens. */
const MOVED = { '/money': '/billing', '/webhooks': '/notifications' };
/** Response types, most preferred first. A client that accepts anything doesn't get the page. */
const ANSWER_TYPES = ['application/json', 'text/html'];
/** Address of the page that verifies statements, which isn't part of the console. */
const VERIFY_PATH = '/verify';
/** Matches a page built for one language. */
const PAGE = /^\/(index|verify)\.([a-z]+)\.html$/;
/** Fallback for users whose languages are all unavailable. */
const COMMON_LANGUAGE = 'en';
/** Cookie that the page sets when the user chooses a language other than the browser's. */
const LANGUAGE_COOKIE = /(?:^|;\s*)language=([a-z]+)(?:;|$)/;
/**
 * The largest image on the first screen. Without a preload, the browser would only discover it from the script, one
 * round trip later.
 */
const FIRST_PICTURE = /^\/assets\/world-[\w-]+\.svg$/;
const MAX_FILES = 200;
const MAX_BYTES = 10_000_000;
/** Assets whose file names contain a hash of their content. */
const HASHED = /^\/assets\//;
/** Content codings, best first. `npm run build` writes the compressed files next to the original. */
const CODINGS = [
  ['br', '.br', brotliCompressSync],
  ['gzip', '.gz', gzipSync],
] as const;

/** Restricts a page to files of its own origin and forbids inline scripts. */
const PAGE_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'";
/** Matches the stricter policy that the build writes into a page without other files. */
const OWN_POLICY = /<meta http-equiv="Content-Security-Policy" content="([^"]+)"/;
const PAGE_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

interface PageFile {
  type: string;
  etag: string;
  plain: Buffer;
  /** The compressed bodies by content coding. */
  coded: ReadonlyMap<string, Buffer>;
}

/**
 * Returns the listener that replaces the page on a host other than the gateway's own, or null if the page may be shown.
 */
export type ForeignHandler = (request: Request) => RequestListener | null;

type Send = (request: Request, response: Response) => void;

interface Page {
  file: PageFile;
  policy: string;
}

/** Serves the console from memory. */
export interface ConsolePage {
  /** Serves the console's screens and files. */
  router: Router;
  /** Handles requests that match no other route. Browsers get the page with status 404. */
  unknown: RequestHandler;
}

/** API paths, which always get an API error, regardless of the client. */
const API = /^\/v1(\/|$)/;

export interface ConsolePageOptions {
  brand?: Brand;
  foreignHandler?: ForeignHandler;
}

/** Serves the built console. Returns null if it hasn't been built. */
export function createConsolePage(
  folder: string,
  { brand = NO_BRAND, foreignHandler = () => null }: ConsolePageOptions = {},
): ConsolePage | null {
  const files = readFiles(folder);
  const screens = pagesOf(files, 'index', brand);
  // The policy of this page forbids requests, so it has only the operator's name.
  const verifiers = pagesOf(files, 'verify', { ...NO_BRAND, name: brand.name });
  if (!screens.has(COMMON_LANGUAGE)) return null;
  const router = express.Router({ strict: true, caseSensitive: true });
  const picture = [...files.keys()].find((path) => FIRST_PICTURE.test(path));
  /** Answers a browser. Returns false if the client isn't one. */
  const answer = (request: Request, response: Response, send: Send): boolean => {
    response.vary('Accept');
    if (preferredType(request.headers.accept ?? '*/*', ANSWER_TYPES) !== 'text/html') return false;
    (foreignHandler(request) ?? send)(request, response);
    return true;
  };
  /** Returns the function that sends a page in the client's language. */
  const pageIn = (pages: ReadonlyMap<string, Page>): Send => {
    const languages = [...new Set([COMMON_LANGUAGE, ...pages.keys()])];
    return (request, response) => {
      const language = languageFor(request, languages);
      const { file, policy } = pages.get(language)!;
      response.vary('Accept-Language');
      response.vary('Cookie');
      response.set({ ...PAGE_HEADERS, 'Cache-Control': 'no-cache', 'Content-Language': language });
      response.set('Content-Security-Policy', `${policy}; frame-ancestors 'none'`);
      if (picture !== undefined && request.path === '/' && !hasSession(request))
        response.set('Link', `<${picture}>; rel=preload; as=image`);
      sendFile(request, response, file);
    };
  };
  const addRoute = (path: string, send: Send) =>
    router.get(path, (request, response, next) => {
      if (answer(request, response, send)) request.state.route = path.replace(':id', '{id}');
      else next();
    });
  const sendScreen = pageIn(screens);
  for (const path of ['/', ...SCREENS]) addRoute(path, sendScreen);
  if (verifiers.has(COMMON_LANGUAGE)) addRoute(VERIFY_PATH, pageIn(verifiers));
  for (const [path, to] of Object.entries(MOVED))
    addRoute(path, (request, response) => response.redirect(308, to + request.url.slice(path.length)));
  for (const [path, file] of files) {
    if (PAGE.test(path)) continue;
    const lasts = HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';
    router.get(path, named('console file'), (request, response) => {
      response.set({ 'Cache-Control': lasts, 'X-Content-Type-Options': 'nosniff' });
      sendFile(request, response, file);
    });
    router.all(path, refuseOtherMethods('GET, HEAD, OPTIONS'));
  }
  for (const [path, file, policy] of brandFiles(brand)) {
    router.get(path, named('console file'), (request, response) => {
      response.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' });
      response.set('Content-Security-Policy', policy);
      sendFile(request, response, file);
    });
    router.all(path, refuseOtherMethods('GET, HEAD, OPTIONS'));
  }
  const unknown: RequestHandler = (request, response, next) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || API.test(request.path) || !answer(request, response.status(404), sendScreen)) next();
  };
  return { router, unknown };
}

/** Returns whether the request has a session cookie, valid or not. */
const hasSession = (request: Request): boolean =>
  [true, false].some((isSecure) => readSessionCookie(request, isSecure) !== null);

/** Returns the operator's own files, which are revalidated because they may change with a restart. */
function* brandFiles({ accent, logo }: Brand): Generator<[path: string, file: PageFile, policy: string]> {
  if (accent !== null)
    yield [ACCENT_PATH, pageFile('text/css; charset=utf-8', Buffer.from(accentStyle(accent))), PAGE_POLICY];
  if (logo !== null) yield [LOGO_PATH, pageFile(logo.type, logo.content), LOGO_POLICY];
}

/** Returns a page by language, with the operator's brand. */
function pagesOf(files: ReadonlyMap<string, PageFile>, page: 'index' | 'verify', brand: Brand): Map<string, Page> {
  const pages = new Map<string, Page>();
  for (const [path, file] of files) {
    const [, name, language] = PAGE.exec(path) ?? [];
    if (name !== page || language === undefined) continue;
    const html = file.plain.toString();
    const policy = OWN_POLICY.exec(html)?.[1] ?? PAGE_POLICY;
    const branded = Buffer.from(brandedPage(html, brand));
    const isChanged = !branded.equals(file.plain);
    pages.set(language, { file: isChanged ? pageFile(file.type, branded, [...file.coded.keys()]) : file, policy });
  }
  return pages;
}

/** Returns the language chosen by the user on the page, or the browser's preferred one. */
function languageFor(request: Request, languages: string[]): string {
  const chosen = LANGUAGE_COOKIE.exec(request.headers.cookie ?? '')?.[1];
  if (chosen !== undefined && languages.includes(chosen)) return chosen;
  return new Negotiator(request).languages(languages)[0] ?? COMMON_LANGUAGE;
}

function sendFile(request: Request, response: Response, { type, etag, plain, coded }: PageFile): void {
  response.vary('Accept-Encoding');
  const coding = CODINGS.map(([name]) => name).find((name) => coded.has(name) && accepts(request, name));
  const tag = coding === undefined ? `"${etag}"` : `"${etag}-${coding}"`;
  response.set({ 'Content-Type': type, ETag: tag });
  if (coding !== undefined) response.set('Content-Encoding', coding);
  if (request.fresh) return void response.status(304).end();
  const body = coding === undefined ? plain : coded.get(coding)!;
  response.setHeader('Content-Length', body.length);
  response.end(request.method === 'HEAD' ? undefined : body);
}

function accepts(request: Request, coding: string): boolean {
  return new Negotiator(request).encodings([coding, 'identity']).includes(coding);
}

function readFiles(folder: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  const paths = listFiles(folder);
  const known = new Set(paths);
  let bytes = 0;
  for (const path of paths) {
    if (CODINGS.some(([, ending]) => path.endsWith(ending))) continue;
    const plain = readFileSync(path);
    const coded = CODINGS.filter(([, ending]) => known.has(path + ending)).map(
      ([name, ending]) => [name, readFileSync(path + ending)] as const,
    );
    bytes += coded.reduce((sum, [, buffer]) => sum + buffer.length, plain.length);
    if (files.size === MAX_FILES || bytes > MAX_BYTES) throw new Error(`${folder} is too large for a console`);
    const name = `/${relative(folder, path).split(sep).join(posix.sep)}`;
    files.set(name, { type: typeOf(name), etag: contentHash(plain), plain, coded: new Map(coded) });
  }
  return files;
}

/** Returns a file that isn't in the folder, compressed with the given codings. */
function pageFile(type: string, plain: Buffer, codings: readonly string[] = []): PageFile {
  const coded = CODINGS.filter(([name]) => codings.includes(name)).map(
    ([name, , code]) => [name, code(plain)] as const,
  );
  return { type, etag: contentHash(plain), plain, coded: new Map(coded) };
}

function listFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder, { recursive: true }) as string[];
    return names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
};

function typeOf(name: string): string {
  return TYPES[extname(name)] ?? 'application/octet-stream';
}
