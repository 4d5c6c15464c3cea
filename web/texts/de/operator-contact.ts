import type { texts as english } from '../en/operator-contact.js';

export const texts: typeof english = {
  subject: (account) => `Guthaben für Konto ${account}`,
};
