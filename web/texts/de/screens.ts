import type { screens as english } from '../en/screens.js';

export const screens: typeof english = {
  '/': 'Start',
  '/machines': 'Maschinen',
  '/models': 'Modell starten',
  '/deploy': 'Mieten',
  '/instances': 'Instanzen',
  '/volumes': 'Volumes',
  '/billing': 'Abrechnung',
  '/keys': 'Schlüssel',
  '/activity': 'Aktivität',
  '/notifications': 'Benachrichtigungen',
  '/sign-in': 'Anmelden',
};
