/** Returns the number of an account's invoice for a UTC month such as 2026-11. */
export function invoiceNumber(accountId: string, month: string): string {
  return `${accountId}-${month}`;
}
