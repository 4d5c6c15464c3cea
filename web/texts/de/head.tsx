import type { texts as english } from '../en/head.js';

export const texts: typeof english = {
  brand: 'GPU-Vermietung',
  screens: 'Seiten',
  api: 'API',
  more: 'Mehr',
  find: 'Suchen',
  signIn: 'Anmelden',
  signOut: 'Abmelden',
};
