import { escapeHtml } from '../../domain/kernel/html.js';

/** The operator's logo. */
export interface Logo {
  type: 'image/svg+xml' | 'image/png';
  content: Buffer;
}

/** The operator's changes to the console's appearance. A part that is null keeps its default. */
export interface Brand {
  name: string | null;
  /** Colour such as #0f766e. */
  accent: string | null;
  logo: Logo | null;
}

export const NO_BRAND: Brand = { name: null, accent: null, logo: null };

export const LOGO_PATH = '/console/logo';
export const ACCENT_PATH = '/console/accent.css';

/** Prevents scripts in an SVG from running if its URL is opened, and the image from loading anything. */
export const LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** Returns the stylesheet that sets the accent. All colours derived from it are in the console's own styles. */
export const accentStyle = (accent: string): string => `:root{--brand:${accent}}`;

/** Matches the service's default name at the end of a page's title, after the name of the page. */
const TITLE = /(<title>(?:[^<]* · )?)[^<]*(?=<\/title>)/;

/** Writes the brand into a page of the console. */
export function brandedPage(html: string, { name, accent, logo }: Brand): string {
  const head: string[] = [];
  // The page's scripts also read the name and the logo from these elements.
  if (name !== null) head.push(`<meta name="application-name" content="${escapeHtml(name)}">`);
  if (accent !== null)
    head.push(
      `<meta name="theme-color" content="${accent}">`,
      // The last stylesheet takes precedence.
      `<link rel="stylesheet" href="${ACCENT_PATH}">`,
    );
  const icon = logo === null ? null : `<link rel="icon" href="${LOGO_PATH}" type="${logo.type}">`;
  return html
    .replace(TITLE, (found, start: string) => (name === null ? found : start + escapeHtml(name)))
    .replace(/<link rel="icon"[^>]*>/, (found) => icon ?? found)
    .replace('</head>', () => `${head.join('')}</head>`);
}
