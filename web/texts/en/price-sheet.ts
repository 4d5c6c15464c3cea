export const texts = {
  title: 'Models and prices',
  perGpuHour: 'Prices in USD per GPU-hour',
  clear: 'Clear selection',
  done: 'Done',
  caption: 'USD per GPU-hour and matching free GPUs, by model',
  gpu: 'GPU',
  free: 'Free',
  freeGpus: 'Free GPUs',
  modeInUsd: (mode: string) => `${mode} (USD)`,
  none: 'No model matches these filters',
  noneAdvice: 'Try another name, a higher price or less VRAM.',
};
