import type { places as english } from '../en/places.js';

export const places: typeof english = {
  Bucharest: 'Bukarest',
  Copenhagen: 'Kopenhagen',
  Lisbon: 'Lissabon',
  'Montreal, Quebec': 'Montréal, Québec',
  Prague: 'Prag',
  Singapore: 'Singapur',
  Taipei: 'Taipeh',
  Tokyo: 'Tokio',
  Vienna: 'Wien',
  Warsaw: 'Warschau',
  Zurich: 'Zürich',
};
