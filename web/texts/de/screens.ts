import type { screens as english } from '../en/screens.js';

export const screens: typeof english = {
  '/': 'Übersicht',
  '/machines': 'Maschinen',
  '/models': 'Modell betreiben',
  '/deploy': 'Mieten',
  '/instances': 'Instanzen',
  '/volumes': 'Volumes',
  '/billing': 'Abrechnung',
  '/keys': 'Schlüssel',
  '/activity': 'Aktivität',
  '/notifications': 'Benachrichtigungen',
  '/sign-in': 'Anmelden',
};
