import type { KernelDeps } from '../kernel/deps.js';
import { checkOptional } from '../kernel/field.js';
import { proofFields } from './fields.js';

/** An account's texts for its invoices, which leave out empty ones. */
export interface BillingDetails {
  name: string;
  /** Lines separated by line feeds. */
  address: string;
  reference: string;
}

export async function billingDetails({ db }: Pick<KernelDeps, 'db'>, accountId: string): Promise<BillingDetails> {
  const found = await db.prisma.billingDetails.findUnique({ where: { accountId } });
  return { name: found?.name ?? '', address: found?.address ?? '', reference: found?.reference ?? '' };
}

/** Replaces the account's details. An omitted text becomes empty. Throws invalid_request. */
export async function setBillingDetails(
  { db }: Pick<KernelDeps, 'db'>,
  accountId: string,
  input: { [Member in keyof BillingDetails]?: string | null | undefined },
): Promise<BillingDetails> {
  const details = {
    name: checkOptional('name', proofFields.billingName, input.name) ?? '',
    address: checkOptional('address', proofFields.billingAddress, input.address) ?? '',
    reference: checkOptional('reference', proofFields.billingReference, input.reference) ?? '',
  };
  await db.prisma.billingDetails.upsert({
    where: { accountId },
    create: { accountId, ...details },
    update: details,
  });
  return details;
}
