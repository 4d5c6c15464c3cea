/** Charts of an instance’s load. */
export const texts = {
  gpuLoad: 'GPU load',
  gpuMemory: 'GPU memory',
  gpuPower: 'GPU power',
  gpuTemperature: 'GPU temperature',
  cpu: 'CPU',
  memory: 'Memory',
  disk: 'Disk',
  network: 'Network',
  in: 'In',
  out: 'Out',
  most: 'Maximum',
  meanOf: (gpus: number) => `Mean of ${gpus} GPUs`,
  ofTotal: (total: string) => `of ${total}`,
};
