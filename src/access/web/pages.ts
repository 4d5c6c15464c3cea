import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

interface Page {
  status: number;
  title: string;
  text: string;
  retryAfterSeconds?: number;
}

/**
 * The pages that visitors see instead of the instance's own. They don't reveal who owns an instance, or whether it
 * exists.
 */
export const PAGES = {
  nothing: {
    status: 404,
    title: 'Nothing to see here',
    text: 'You don’t have access to this page. If the instance is yours, run <code>gpu open ID</code> to give this browser access.',
  },
  spentLink: {
    status: 403,
    title: 'This link is not valid',
    text: 'A link works once, within a minute. Run <code>gpu open ID</code> for a new one.',
  },
  stopped: {
    status: 503,
    title: 'The instance is stopped',
    text: 'Run <code>gpu start ID</code> to start it again.',
  },
  starting: {
    status: 503,
    title: 'The instance is starting',
    text: 'Its container is not running yet. Try again in a moment.',
    retryAfterSeconds: 5,
  },
  unreachable: {
    status: 504,
    title: 'The machine is not responding',
    text: 'This instance’s machine is currently unreachable. Try again later.',
    retryAfterSeconds: 30,
  },
  noListener: {
    status: 502,
    title: 'Nothing is listening on this port',
    text: 'The instance is running, but no program in it accepts connections on this port.',
    retryAfterSeconds: 5,
  },
  badAnswer: {
    status: 502,
    title: 'Invalid response',
    text: 'The program on this port closed the connection, or does not speak HTTP.',
  },
  tooMany: {
    status: 429,
    title: 'Too many connections',
    text: 'Too many connections are open to this instance or from your address. Try again in a moment.',
    retryAfterSeconds: 5,
  },
  badRequest: {
    status: 400,
    title: 'Ambiguous request',
    text: 'Its headers leave open where it ends or which host it is for.',
  },
  unavailable: {
    status: 503,
    title: 'The service is unavailable',
    text: 'Try again in a moment.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, Page>;

const STYLE = 'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto;padding:0 1rem}';
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

export function sendPage(response: ServerResponse, page: Page, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = htmlOf(page);
  response
    .writeHead(page.status, {
      ...HEADERS,
      ...headers,
      ...(page.retryAfterSeconds !== undefined && { 'Retry-After': String(page.retryAfterSeconds) }),
      'Content-Length': String(Buffer.byteLength(body)),
    })
    .end(body);
}

function htmlOf({ status, title, text }: Page): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1><p>${text}</p><p><small>${status}</small></p></body></html>
`;
}

/**
 * Redirects through another URL on this host, because a browser doesn't load a URL that differs only in its fragment.
 */
const REDIRECT_SCRIPT =
  "const to=document.getElementById('to').href+location.hash;history.replaceState(null,'','/.gpu/');location.replace(to)";
const LANDING_POLICY = `default-src 'none'; script-src 'sha256-${createHash('sha256').update(REDIRECT_SCRIPT).digest('base64')}'; frame-ancestors 'none'`;

/**
 * Sends a page on this host that redirects to `path`, so that the request for `path` doesn't come from another site.
 */
export function sendLanding(response: ServerResponse, path: string, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const to = path.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Opening</title>
<noscript><meta http-equiv="refresh" content="0;url=${to}"></noscript></head>
<body><p><a id="to" href="${to}">Continue</a></p><script>${REDIRECT_SCRIPT}</script></body></html>
`;
  response
    .writeHead(200, {
      ...HEADERS,
      'Content-Security-Policy': LANDING_POLICY,
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
    })
    .end(body);
}
