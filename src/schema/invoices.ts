import { type BillingDetails, billingDetails, setBillingDetails } from '../domain/proof/billing-details.js';
import { proofFields } from '../domain/proof/fields.js';
import { type Invoice, invoice } from '../domain/proof/invoice.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { MAX_LINES, MONTH, MONTH_DOCUMENT } from './statements.js';

const InvoiceType = builder.objectRef<Invoice>('Invoice').implement({
  description: 'Invoice for a UTC month.',
  fields: (t) => ({
    number: t.exposeString('number', { description: 'Account and month.' }),
    statementHash: t.exposeString('statementHash', {
      description: 'SHA-256 of the figures in the signed statement of the same period, in hexadecimal digits.',
    }),
    html: t.exposeString('html', {
      description: 'A complete HTML page without scripts or external resources, ready to print.',
    }),
  }),
});

const BillingDetailsType = builder.objectRef<BillingDetails>('BillingDetails').implement({
  description: 'What the account wants on its invoices. Empty texts are left out.',
  fields: (t) => ({
    name: t.exposeString('name', { description: proofFields.billingName.description }),
    address: t.exposeString('address', { description: proofFields.billingAddress.description }),
    reference: t.exposeString('reference', { description: proofFields.billingReference.description }),
  }),
});

builder.queryFields((t) => ({
  invoice: t.field({
    type: InvoiceType,
    nullable: true,
    ...MONTH_DOCUMENT,
    description: 'Invoice for a UTC month; for the current month, an interim one up to now. Needs an API key.',
    args: { month: t.arg.string(MONTH) },
    resolve: (_root, { month }, context) => invoice(context.deps, accountOf(context), month, MAX_LINES),
  }),
  billingDetails: t.field({
    type: BillingDetailsType,
    nullable: true,
    ...NEEDS_KEY,
    description: 'What the account wants on its invoices. Needs an API key.',
    resolve: (_root, _args, context) => billingDetails(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  setBillingDetails: t.field({
    type: BillingDetailsType,
    nullable: true,
    ...NEEDS_KEY,
    description: 'Replaces what the account wants on its invoices. An omitted text becomes empty.',
    args: {
      name: t.arg.string(fromField(proofFields.billingName)),
      address: t.arg.string(fromField(proofFields.billingAddress)),
      reference: t.arg.string(fromField(proofFields.billingReference)),
    },
    resolve: (_root, details, context) => setBillingDetails(context.deps, accountOf(context), details),
  }),
}));
