import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { basename, extname, join, posix } from 'node:path';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { parseQuery } from '../parse-query.js';
import { preferredType } from '../preferred-type.js';
import { GRAPHIQL_EXAMPLES } from './examples.js';

export interface GraphiqlOptions {
  /** Path of both the GraphQL endpoint and the page, whose files are served next to it under `graphiql/`. */
  endpoint: string;
  /** Output folder of scripts/build-graphiql.mjs. */
  assetsDir: string;
}

/** Response types, most preferred first. A client that accepts anything doesn't get the page. */
const ANSWER_TYPES = ['application/graphql-response+json', 'application/json', 'text/html'];

const TITLE = 'GPU rental gateway – GraphiQL';
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="#0c8f6f" stroke-width="2" stroke-linecap="round"><rect x="5" y="5" width="14" height="14" rx="2"/><rect x="9.5" y="9.5" width="5" height="5" fill="#0c8f6f"/><path d="M9 1.5v2M15 1.5v2M9 20.5v2M15 20.5v2M1.5 9h2M1.5 15h2M20.5 9h2M20.5 15h2"/></svg>`;
const AUTHORIZATION_TO_FILL = 'Bearer gpu_live_PASTE_YOUR_KEY_HERE';

/** Allows only the page's own script, files on this origin, and the style elements that Monaco creates. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  'font-src data:',
  'img-src data:',
  "style-src 'self' 'unsafe-inline'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/**
 * Starts GraphiQL. Each tab has its own headers. The most recently entered Authorization header replaces the
 * placeholder in the other tabs, so that a key only has to be pasted once. Like all headers, it stays in memory unless
 * the user selects "persist headers".
 */
const START_SCRIPT = `
const { assets, ...options } = JSON.parse(document.getElementById('options').textContent);
const toFill = JSON.parse(options.defaultHeaders).Authorization;
let filledIn = null;

function headersOf(tab) {
  const headers = new Headers({ accept: 'application/graphql-response+json, application/json', ...tab });
  headers.set('content-type', 'application/json');
  const authorization = headers.get('authorization');
  if (authorization !== toFill) filledIn = authorization ?? filledIn;
  else if (filledIn !== null) headers.set('authorization', filledIn);
  else headers.delete('authorization');
  return headers;
}

function isSubscription({ operationName }, document) {
  const isRequested = ({ name }) => operationName == null || name?.value === operationName;
  return document?.definitions.some((node) => node.operation === 'subscription' && isRequested(node)) === true;
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + value).split('\\n\\n');
      text = blocks.pop();
      for (const block of blocks) {
        const data = /^event: next\\ndata: (.*)$/.exec(block)?.[1];
        if (data !== undefined) yield JSON.parse(data);
      }
    }
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
  }
}

/** Lets the stop button end the request, and with it the wait for the next event. */
function stoppable(events, stop) {
  const iterator = {
    next: () => events.next(),
    return: () => {
      stop.abort();
      return events.return();
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

async function fetcher(operation, options) {
  try {
    const stop = new AbortController();
    const headers = headersOf(options?.headers);
    if (isSubscription(operation, options?.documentAST)) headers.set('accept', 'text/event-stream');
    const request = { method: 'POST', headers, body: JSON.stringify(operation), signal: stop.signal };
    const response = await fetch(location.pathname, request);
    if (response.headers.get('content-type').startsWith('text/event-stream')) return stoppable(eventsOf(response), stop);
    return await response.json();
  } catch (error) {
    return { errors: [{ message: String(error) }] };
  }
}

// GraphiQL stores its tabs, but not the content of an active tab that was never edited, and would otherwise add an
// empty tab.
try {
  const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState'));
  for (const name of ['query', 'variables']) localStorage.setItem('graphiql:' + name, tabs[activeTabIndex][name] ?? '');
} catch {} // On the first visit, nothing is stored.

const workers = { editorWorkerService: 'editor', graphql: 'graphql', json: 'json' };
window.MonacoEnvironment = { getWorkerUrl: (_module, label) => assets + workers[label] + '.worker.js' };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), {
  ...options,
  fetcher,
  shouldPersistHeaders: localStorage.getItem('graphiql:shouldPersistHeaders') === 'true',
  onEditQuery() {}, // Otherwise, each edit changes the address, which then returns JSON.
});
`;

/**
 * Removes the transform that GraphiQL's tabs keep after the window width changes. It takes effect when a tab is
 * pressed: the tab jumps away from the pointer and the click is lost.
 */
const STYLE = 'html, body, #root { height: 100% } .graphiql-tab { transform: none !important }';

/** Serves GraphiQL's files, and its page to browsers that open the endpoint. Passes on all other requests. */
export function createGraphiql({ endpoint, assetsDir }: GraphiqlOptions): Router {
  const router = express.Router({ strict: true });
  const version = builtVersion(assetsDir);
  // The paths are relative because a proxy may serve the gateway under a path prefix.
  const page = version === null ? null : renderPage(`graphiql/${version}/`);

  router.get(endpoint, (req, res, next) => {
    res.vary('Accept');
    if (!isGraphiqlPage(req)) return next();
    if (page === null) return void res.status(503).type('text').send('GraphiQL is not built: run npm run build.\n');
    res.set({
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': page.contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    res.type('html').send(page.html);
  });
  if (version !== null) {
    const path = posix.join(posix.dirname(endpoint), 'graphiql', version);
    router.use(path, preferGzip, express.static(assetsDir, ASSET_OPTIONS));
  }
  return router;
}

/**
 * Returns the version of the built GraphiQL, or null if it hasn't been built. In that case, the gateway runs without
 * it.
 */
function builtVersion(assetsDir: string): string | null {
  try {
    return readFileSync(join(assetsDir, 'version'), 'utf8');
  } catch {
    return null;
  }
}

/**
 * Returns whether the request is a browser opening the page. A request with a query in its URL is an operation instead.
 */
export function isGraphiqlPage(request: IncomingMessage): boolean {
  const { method, url = '', headers } = request;
  if ((method !== 'GET' && method !== 'HEAD') || headers.accept === undefined) return false;
  if (preferredType(headers.accept, ANSWER_TYPES) !== 'text/html') return false;
  return parseQuery(url.split('?')[1] ?? '').query === undefined;
}

const ASSET_OPTIONS: Parameters<typeof express.static>[1] = {
  immutable: true,
  maxAge: '1y',
  index: false,
  redirect: false,
  setHeaders(res, path) {
    res.setHeader('X-Content-Type-Options', 'nosniff');
    if (extname(path) !== '.gz') return;
    res.setHeader('Content-Encoding', 'gzip');
    (res as Response).type(extname(basename(path, '.gz')));
  },
};

function preferGzip(req: Request, res: Response, next: NextFunction): void {
  res.vary('Accept-Encoding');
  if (/\.(js|css)$/.test(req.path) && req.acceptsEncodings('gzip', 'identity') === 'gzip') req.url = `${req.path}.gz`;
  next();
}

function renderPage(assets: string): { html: string; contentSecurityPolicy: string } {
  const options = {
    assets,
    title: 'GPU rental gateway',
    logo: ICON,
    defaultHeaders: JSON.stringify({ Authorization: AUTHORIZATION_TO_FILL }, null, 2),
    showPersistHeadersSettings: true,
    defaultTabs: GRAPHIQL_EXAMPLES.map(({ query, variables }) => ({
      query,
      variables: variables === undefined ? null : JSON.stringify(variables, null, 2),
    })),
  };
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${TITLE}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<link rel="stylesheet" href="${assets}graphiql.css">
<style>${STYLE}</style>
</head>
<body>
<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div>
<script type="application/json" id="options">${JSON.stringify(options).replaceAll('<', '\\u003c')}</script>
<script src="${assets}graphiql.js"></script>
<script>${START_SCRIPT}</script>
</body>
</html>
`;
  const digest = createHash('sha256').update(START_SCRIPT).digest('base64');
  const scripts = `script-src 'self' 'sha256-${digest}'`;
  return { html, contentSecurityPolicy: [...CONTENT_SECURITY_POLICY, scripts].join('; ') };
}
