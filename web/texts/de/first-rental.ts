import { number } from '../../figures/number.js';
import type { texts as english } from '../en/first-rental.js';

export const texts: typeof english = {
  gpus: 'Wählen Sie eine GPU',
  allMachines: 'Alle Maschinen',
  model: (vramGb, free) => `${vramGb} GB · ${number(free)} frei`,
  uses: {
    CONSUMER_FLAGSHIP: 'Bilder, Videos, kleine Sprachmodelle',
    DATACENTER: 'Feinabstimmung und Inferenz',
    FLAGSHIP: 'Training und große Sprachmodelle',
  },
  configure: 'Konfigurieren',
  templates: 'Oder beginnen Sie mit einer Vorlage',
  findsGpu: 'Findet die passende GPU',
};
