import { z } from 'zod';
import { CUDA_VERSION } from '../kernel/cuda.js';
import { choices, type Field, list, price, slug, text, wholeNumber } from '../kernel/field.js';
import { GPU_TIERS } from '../kernel/gpu-tier.js';

export const offerFields = {
  gpu: text(1, 64, 'Slug or name of a GPU model, as in the price sheet. A name such as H100 matches all its models.'),
  region: text(1, 64, 'Region code.'),
  numMin: { ...wholeNumber(1, 8, 'Minimum number of GPUs in the machine.'), default: 1 },
  priceMax: price('Maximum on-demand price in USD per hour for the whole machine.'),
  regions: list(slug, 'Region codes. An offer matches if it is in any of them; an empty list matches all.'),
  preferredGpus: list(
    slug,
    'Slugs of the acceptable GPU models, most preferred first. An empty list accepts any model, cheapest first.',
  ),
  preferredRegions: list(
    slug,
    'Codes of the acceptable regions, most preferred first. An empty list accepts any region, cheapest first.',
  ),
  tiers: choices(
    GPU_TIERS,
    'GPU tiers',
    'Classes of GPU models. An offer matches if it has any of them; an empty list matches all.',
  ),
  vramGbMin: wholeNumber(1, 10_000, 'Minimum video memory per GPU, in GB.'),
  numMax: wholeNumber(1, 8, 'Maximum number of GPUs in the machine.'),
  cudaMin: {
    schema: z.string().regex(CUDA_VERSION),
    must: 'a CUDA version such as 12.4',
    description: 'Minimum CUDA version that the driver supports, such as 12.4. AMD machines never match.',
  },
  reliabilityMin: {
    schema: z.number().min(0).max(1),
    must: 'a number from 0 to 1',
    description: 'Minimum uptime of the machine, as a fraction.',
  },
  vcpusMin: wholeNumber(1, 100_000, 'Minimum number of virtual CPUs.'),
  ramGbMin: wholeNumber(1, 1_000_000, 'Minimum memory in GB.'),
  diskGbMin: wholeNumber(1, 1_000_000, 'Minimum free disk for a new instance, in GB.'),
  pricePerGpuMax: price('Maximum on-demand price in USD per GPU-hour, whichever mode you rent in.'),
} satisfies Record<string, Field<unknown>>;
