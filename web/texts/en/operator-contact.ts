export const texts = {
  /** The subject of an email to the operator. */
  subject: (account: string) => `Credit for account ${account}`,
};
