import type { texts as english } from '../en/page.js';

export const texts: typeof english = {
  title: 'GPU-Vermietung',
  noScript: 'Diese Konsole braucht JavaScript. Dasselbe geht mit der API und auf der Kommandozeile.',
};
