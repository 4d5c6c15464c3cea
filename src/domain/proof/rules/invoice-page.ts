import { escapeHtml } from '../../kernel/html.js';
import { formatUsd, type Micro, type Rate } from '../../kernel/money.js';
import { formatDay } from '../../kernel/time.js';

/** Content of an invoice. All amounts are exact to the micro-USD. */
export interface InvoiceContent {
  number: string;
  issued: string;
  /** First second and end of the period. */
  from: string;
  to: string;
  /** Whether the month isn't over yet. */
  isInterim: boolean;
  operator: { name: string; address: readonly string[] };
  customer: { account: string; name: string; address: readonly string[]; reference: string };
  charges: readonly InvoiceLine[];
  /** Payments, refunds and corrections. */
  movements: readonly InvoiceMovement[];
  openingBalance: Micro;
  closingBalance: Micro;
  /** Hash of the figures of the signed statement of the same period, and a picture of it as SVG. */
  statementHash: string;
  hashPicture: string;
}

export interface InvoiceLine {
  what: string;
  seconds: bigint;
  rate: Rate;
  amount: Micro;
}

export interface InvoiceMovement {
  /** Instant. */
  at: string;
  what: string;
  amount: Micro;
}

/** Returns markup with its values escaped. Markup among the values must be wrapped in `raw`. */
function html(parts: TemplateStringsArray, ...values: (string | Raw | readonly Raw[])[]): Raw {
  const texts = values.map((value) => {
    if (typeof value === 'string') return escapeHtml(value);
    return Array.isArray(value) ? value.map(({ markup }: Raw) => markup).join('') : (value as Raw).markup;
  });
  return { markup: parts.map((part, index) => part + (texts[index] ?? '')).join('') };
}

interface Raw {
  markup: string;
}

function raw(markup: string): Raw {
  return { markup };
}

const NOTHING = raw('');

const STYLE = `
@page { size: A4; margin: 18mm 16mm; }
* { box-sizing: border-box; }
body { color: #16181d; font: 10pt/1.45 Inter, "Helvetica Neue", Arial, sans-serif; margin: 2rem auto; max-width: 180mm; padding: 0 1rem; }
header { display: flex; gap: 2rem; justify-content: space-between; margin-bottom: 2rem; }
h1 { font-size: 20pt; letter-spacing: -0.01em; line-height: 1.1; margin: 0 0 0.25rem; }
h2 { font-size: 11pt; margin: 1.75rem 0 0.5rem; }
p { margin: 0; }
.quiet { color: #5b6070; }
.right { text-align: right; }
.parties { display: grid; gap: 2rem; grid-template-columns: 1fr 1fr; }
.parties h2 { margin-top: 0; }
table { border-collapse: collapse; width: 100%; }
th { border-bottom: 1px solid #16181d; font-weight: 600; padding: 0.3rem 0.5rem; text-align: left; }
td { border-bottom: 1px solid #e3e5ea; padding: 0.3rem 0.5rem; vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
td.number, th.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
tr { break-inside: avoid; }
thead { display: table-header-group; }
.sums { margin-left: auto; margin-top: 1.75rem; width: 60%; }
.sums tr:last-child td { border-bottom: 0; border-top: 1px solid #16181d; font-weight: 600; }
footer { align-items: center; border-top: 1px solid #e3e5ea; break-inside: avoid; display: flex; gap: 1.25rem; margin-top: 2.5rem; padding-top: 1rem; }
footer svg { flex: none; height: 30mm; width: 30mm; }
code { font: 8.5pt ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; padding: 0; } }
`;

/** Returns a complete HTML document without scripts or external resources, which prints on A4 or Letter. */
export function invoicePage(content: InvoiceContent): string {
  const { number, issued, from, to, isInterim, operator, customer } = content;
  const title = isInterim ? 'Interim invoice' : 'Invoice';
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${number}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<header>
<div><h1>${title}</h1><p class="quiet">${number}</p></div>
<div class="right"><p>${from.slice(0, 10)} to ${lastDay(to)} (UTC)</p><p class="quiet">Issued ${issued}</p></div>
</header>
<section class="parties">
<div><h2>From</h2><p>${operator.name}</p>${operator.address.map(line)}</div>
<div><h2>To</h2>${customer.name === '' ? NOTHING : line(customer.name)}${customer.address.map(line)}
<p class="quiet">Account ${customer.account}</p>${reference(customer.reference)}</div>
</section>
${charges(content.charges)}
${movements(content.movements)}
${sums(content)}
<footer>${raw(content.hashPicture)}<div>
<p>The signed statement of this period proves every line. <code>gpu verify</code> shows this hash of its figures:</p>
<p><code>${content.statementHash}</code></p>
</div></footer>
</body>
</html>
`;
  return markup;
}

/** Returns the day of the last second before `to`. */
function lastDay(to: string): string {
  return formatDay(new Date(Date.parse(to) - 1000));
}

function line(text: string): Raw {
  return html`<p>${text}</p>`;
}

function reference(text: string): Raw {
  return text === '' ? NOTHING : html`<p class="quiet">Your reference: ${text}</p>`;
}

function charges(lines: readonly InvoiceLine[]): Raw {
  if (lines.length === 0) return html`<h2>Charges</h2><p class="quiet">No charges in this period.</p>`;
  const rows = lines.map(
    ({ what, seconds, rate, amount }) => html`<tr><td>${what}</td><td class="number">${duration(seconds)}</td>
<td class="number">${formatUsd(rate)}</td><td class="number">${formatUsd(amount)}</td></tr>
`,
  );
  return html`<h2>Charges</h2>
<table><thead><tr><th>For</th><th class="number">Time (h:mm:ss)</th><th class="number">USD per hour</th><th class="number">USD</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

function movements(lines: InvoiceContent['movements']): Raw {
  if (lines.length === 0) return NOTHING;
  const rows = lines.map(
    ({ at, what, amount }) =>
      html`<tr><td>${at.slice(0, 10)}</td><td>${what}</td><td class="number">${formatUsd(amount)}</td></tr>
`,
  );
  return html`<h2>Payments and credits</h2>
<table><thead><tr><th>Date</th><th>For</th><th class="number">USD</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function sums({ charges, movements, openingBalance, closingBalance }: InvoiceContent): Raw {
  const charged = charges.reduce((sum, { amount }) => sum + amount, 0n);
  const credited = movements.reduce((sum, { amount }) => sum + amount, 0n);
  const rows = [
    ['Balance before', openingBalance],
    ['Payments and credits', credited],
    ['Charges', -charged],
    ['Balance after', closingBalance],
  ] as const;
  return html`<table class="sums"><tbody>${rows.map(
    ([what, amount]) => html`<tr><td>${what}</td><td class="number">${formatUsd(amount)} USD</td></tr>`,
  )}</tbody></table>`;
}

/** Formats seconds as hours, minutes and seconds, such as 743:59:01. */
function duration(seconds: bigint): string {
  const [hours, minutes, rest] = [seconds / 3_600n, (seconds / 60n) % 60n, seconds % 60n];
  return [hours, minutes.toString().padStart(2, '0'), rest.toString().padStart(2, '0')].join(':');
}
