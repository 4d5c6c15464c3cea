export const texts = {
  title: 'Price sheet',
  perGpuHour: 'USD per GPU-hour',
  again: 'Try again',
  caption: 'USD per GPU-hour and matching free GPUs, by model',
  gpu: 'GPU',
  free: 'Free',
  freeGpus: 'Free GPUs',
  modeInUsd: (mode: string) => `${mode} (USD)`,
  reading: 'Loading the price sheet …',
  none: 'No model meets these requirements',
  noneAdvice: 'Try another name, a higher price or less VRAM.',
};
