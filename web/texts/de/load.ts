import type { texts as english } from '../en/load.js';

export const texts: typeof english = {
  gpuLoad: 'GPU-Auslastung',
  gpuMemory: 'GPU-Speicher',
  gpuPower: 'GPU-Leistung',
  gpuTemperature: 'GPU-Temperatur',
  cpu: 'CPU',
  memory: 'Arbeitsspeicher',
  disk: 'Disk',
  network: 'Netzwerk',
  in: 'Eingehend',
  out: 'Ausgehend',
  most: 'Maximum',
  meanOf: (gpus) => `Mittel von ${gpus} GPUs`,
  ofTotal: (total) => `von ${total}`,
};
