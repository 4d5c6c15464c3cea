import { escapeHtml } from '../domain/kernel/html.js';
import type { MailContent, Paragraph } from '../domain/webhooks/rules/mail.js';

/** The operator's identity in mails. */
export interface MailBrand {
  name: string;
  /** Colour such as #0f766e. */
  accent: string | null;
  /** PNG file, because few mail programs show SVG. */
  logo: Buffer | null;
}

/** Content-ID of the logo, which is attached so that showing it loads nothing from a server. */
export const LOGO_ID = 'logo@mail';

const QUIET = 'opacity:.7;font-size:14px';

export function plainText({ lead, facts, paragraphs }: MailContent): string {
  const lines = facts.map(([name, value]) => `  ${name}: ${value}\n`).join('');
  const blocks = [`${lead}\n`, lines, ...paragraphs.map(({ text, link }) => `${text}${link ? ` ${link.url}` : ''}\n`)];
  return blocks.filter((block) => block !== '').join('\n');
}

/** Returns the same content as an HTML page. Mail programs apply only styles in attributes reliably. */
export function htmlPage({ lead, facts, paragraphs }: MailContent, { name, accent, logo }: MailBrand): string {
  const image = logo === null ? '' : `<img src="cid:${LOGO_ID}" height="28" alt="" style="vertical-align:middle"> `;
  const rows = facts.map(
    ([fact, value]) =>
      `<tr><td style="${QUIET};padding:4px 24px 4px 0;vertical-align:top">${escapeHtml(fact)}</td>` +
      `<td style="padding:4px 0;word-break:break-word">${escapeHtml(value)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:24px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<div style="max-width:560px;margin:0 auto;border-top:4px solid ${accent ?? 'currentColor'};padding:24px 0">
<p style="margin:0 0 24px;font-weight:600">${image}${escapeHtml(name)}</p>
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">${escapeHtml(lead)}</h1>
${rows.length === 0 ? '' : `<table cellspacing="0" style="margin:0 0 24px;border-collapse:collapse">${rows.join('')}</table>`}
${paragraphs.map((each, index) => paragraph(each, index === 0 ? '' : QUIET)).join('\n')}
</div></body></html>
`;
}

function paragraph({ text, link }: Paragraph, style: string): string {
  const end =
    link === undefined
      ? ''
      : ` <a href="${escapeHtml(link.url)}" style="color:inherit;font-weight:600">${escapeHtml(link.label)}</a>`;
  return `<p style="margin:0 0 8px;${style}">${escapeHtml(text)}${end}</p>`;
}
