export const texts = {
  title: 'Price sheet',
  perGpuHour: 'USD per GPU-hour',
  again: 'Try again',
  caption: 'USD per GPU-hour and GPUs that are free now and meet the requirements, by model',
  gpu: 'GPU',
  free: 'Free',
  freeGpus: 'Free GPUs',
  modeInUsd: (mode: string) => `${mode}, USD`,
  reading: 'Reading the price sheet …',
  none: 'No model meets these requirements',
  noneAdvice: 'Look for another name, raise the price, or ask for less video memory.',
};
