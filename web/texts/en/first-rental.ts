import { number } from '../../figures/number.js';

/** The offers on Home to an account without instances. */
export const texts = {
  gpus: 'Choose a GPU to get started',
  allMachines: 'All machines',
  model: (vramGb: number, free: number) => `${vramGb} GB · ${number(free)} free`,
  /** Typical uses of a class of models, by the API’s name for it. */
  uses: {
    CONSUMER_FLAGSHIP: 'Images, video and small language models',
    DATACENTER: 'Fine-tuning and serving models',
    FLAGSHIP: 'Training and large language models',
  },
  configure: 'Configure',
  templates: 'Or start from a template',
  findsGpu: 'Finds a GPU that fits it',
};
