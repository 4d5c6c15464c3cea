import type { texts as english } from '../en/head.js';

export const texts: typeof english = {
  brand: 'GPU-Vermietung',
  screens: 'Ansichten',
  home: 'Start',
  machines: 'Maschinen',
  instances: 'Instanzen',
  money: 'Guthaben',
  volumes: 'Volumes',
  keys: 'Schlüssel',
  activity: 'Aktivität',
  webhooks: 'Webhooks',
  api: 'API',
  more: 'Mehr',
  find: 'Suchen',
  signIn: 'Anmelden',
  signOut: 'Abmelden',
};
