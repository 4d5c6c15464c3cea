import type { texts as english } from '../en/head.js';

export const texts: typeof english = {
  brand: 'GPU-Vermietung',
  screens: 'Seiten',
  home: 'Übersicht',
  machines: 'Maschinen',
  instances: 'Instanzen',
  money: 'Abrechnung',
  volumes: 'Volumes',
  keys: 'Schlüssel',
  activity: 'Aktivität',
  webhooks: 'Benachrichtigungen',
  api: 'API',
  more: 'Mehr',
  find: 'Suchen',
  signIn: 'Anmelden',
  signOut: 'Abmelden',
};
