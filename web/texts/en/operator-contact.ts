export const texts = {
  /** Of an email to the operator. */
  subject: (account: string) => `Credit for account ${account}`,
};
