import type { Command } from 'commander';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import type { Output } from './show.js';
import { monthOf, thisMonth } from './statements.js';
import { card } from './table.js';
import { printLines, printText } from './terminal.js';

const INVOICE = 'query ($month: String!) { invoice(month: $month) { number statementHash html } }';
const DETAILS = '{ name address reference }';

interface Details {
  name: string;
  address: string;
  reference: string;
}

export function addInvoiceCommands(program: Command): void {
  program
    .command('invoice')
    .description('Print the invoice for a UTC month as an HTML page')
    .option('--month <month>', 'UTC month, such as 2026-10 (default: this month)', monthOf)
    .option('--json', "Print the service's JSON response unchanged")
    .action(async ({ month: given, json }: Output & { month?: string }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const month = given ?? (await thisMonth(settings));
      const { invoice } = await queryGraphql<{ invoice: { html: string } }>(settings, INVOICE, { month });
      printText(json ? JSON.stringify(invoice) : invoice.html.trimEnd());
    });
  program
    .command('billing')
    .description('Show or replace your name, address and reference on invoices')
    .option('--name <name>', 'Your name or company')
    .option('--address <address>', 'Your address, with lines separated by |', linesOf)
    .option('--reference <text>', 'Your reference, such as an order number')
    .option('--json', "Print the service's JSON response unchanged")
    .action(async ({ json, ...given }: Output & Partial<Details>, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const read = `{ details: billingDetails ${DETAILS} }`;
      const { details: before } = await queryGraphql<{ details: Details }>(settings, read, {});
      const details = Object.keys(given).length === 0 ? before : await replace(settings, { ...before, ...given });
      if (json) return printText(JSON.stringify(details));
      printLines(
        card([
          ['Name', details.name],
          ...details.address.split('\n').map((line, index) => [index === 0 ? 'Address' : '', line] as const),
          ['Reference', details.reference],
        ]),
      );
    });
}

async function replace(settings: Settings, details: Details): Promise<Details> {
  const mutation = `mutation ($name: String, $address: String, $reference: String) {
    details: setBillingDetails(name: $name, address: $address, reference: $reference) ${DETAILS} }`;
  return (await queryGraphql<{ details: Details }>(settings, mutation, { ...details })).details;
}

function linesOf(text: string): string {
  return text
    .split('|')
    .map((line) => line.trim())
    .join('\n');
}
