import express, { type Request, type Response, type Router } from 'express';
import type { KernelDeps } from '../../domain/kernel/deps.js';
import { confirmByLink, endByLink, isLink, type LinkOutcome } from '../../domain/webhooks/mail-address.js';
import type { LinkPurpose } from '../../domain/webhooks/rules/mail.js';
import { named, refuseOtherMethods } from '../routing.js';

/**
 * The page loads and runs nothing. Its form is submitted to the page's own URL, which isn't disclosed to other sites.
 */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex',
};

interface Texts {
  question: string;
  button: string;
  done: string;
}

const TEXTS: Readonly<Record<LinkPurpose, Texts>> = {
  confirm: {
    question: "Send the account's notices to your email address?",
    button: 'Send notices',
    done: 'Your address is confirmed. It will receive notices.',
  },
  end: {
    question: 'Stop sending notices to your email address?',
    button: 'Unsubscribe',
    done: 'Your address no longer receives notices.',
  },
};
const LATE = 'This link has expired; it was valid for a day. Set the address again to get a new one.';
const UNKNOWN = 'This link is invalid or no longer valid.';
const STATUS: Readonly<Record<LinkOutcome, number>> = { done: 200, late: 410, unknown: 404 };

/**
 * Serves the links in emails. A GET only shows a confirmation page, because programs that scan mail open every link. A
 * POST with any body takes effect immediately, because that is what mail programs send (RFC 8058).
 */
export function createMailPages(deps: Pick<KernelDeps, 'db' | 'clock' | 'sealingKeys'>): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const paths = [
    ['confirm', confirmByLink],
    ['end', endByLink],
  ] as const;
  for (const [purpose, act] of paths) {
    const { question, button, done } = TEXTS[purpose];
    const path = `/mail/${purpose}`;
    router.all(path, named(path));
    router.get(path, async (request, response) => {
      const [id, token] = linkOf(request);
      const isKnown = await isLink(deps, purpose, id, token);
      send(response, isKnown ? 200 : 404, isKnown ? `<p>${question}</p>${form(button)}` : `<p>${UNKNOWN}</p>`);
    });
    router.post(path, async (request, response) => {
      const outcome = await act(deps, ...linkOf(request));
      const text = { done, late: LATE, unknown: UNKNOWN }[outcome];
      send(response, STATUS[outcome], `<p role="status">${text}</p>`);
    });
    router.all(path, refuseOtherMethods('GET, HEAD, POST, OPTIONS'));
  }
  return router;
}

function linkOf({ query: { id, token } }: Request): [id: string, token: string] {
  return [typeof id === 'string' ? id : '', typeof token === 'string' ? token : ''];
}

/** Returns the confirmation form. It has no action, so it is submitted to the page's own URL, including the query. */
function form(button: string): string {
  return `<form method="post"><button>${button}</button></form>`;
}

function send(response: Response, status: number, body: string): void {
  response.writeHead(status, HEADERS).end(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Notices by email</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}button{font:inherit;padding:.5rem 1rem}</style>
</head><body><main><h1>Notices by email</h1>${body}</main></body></html>`);
}
