import { DomainError } from '../../kernel/errors.js';
import { BYTES_16_BIT, type ModelConfig } from './model-config.js';

/** Maximum number of GPUs in a machine. */
const MAX_GPUS = 8;
/** Share of the GPU memory that vLLM uses by default (`--gpu-memory-utilization`). */
export const MEMORY_SHARE = 0.9;
/** Bytes per GPU for the CUDA context, communication buffers, CUDA graphs and sampling. */
const FIXED_OVERHEAD = 1e9;
/** Maximum number of tokens that vLLM processes in a step by default (`--max-num-batched-tokens`). */
const STEP_TOKENS = 8_192;
/** Default context length in tokens, for models that have a longer one. */
export const USUAL_CONTEXT = 8_192;
const GB = 1e9;
/**
 * Vendors state memory in GB, meaning GiB less what error correction takes. Small GPUs may have only 10^9 bytes per GB,
 * such as the L4, L40S and T4. All GPUs from 80 GB have at least 6% more, such as the A100, H100 and H200.
 */
const [LARGE_GB, LARGE_RATIO] = [80, 1.06];
/** Space for vLLM's image and caches, in GB. */
const IMAGE_GB = 40;
/** Ratio of the disk to the weights, which leaves room for the tokenizer and temporary files. */
const DISK_RATIO = 1.1;
const DISK_STEP_GB = 10;
/** Larger models don't exist, so their config is wrong. */
const MAX_GB = 1_000_000;

export interface MemoryRequest {
  /** Tokens per sequence. Null means the usual length, or the model's maximum if that is shorter. */
  contextLength: number | null;
  /** Number of sequences of this length that the cache holds. */
  concurrency: number;
  /** Size of the stored weights in bytes, if the hub states it. */
  storedBytes: number | null;
}

/** GPU memory that a model needs in vLLM, in bytes. */
export interface Memory {
  parameters: number;
  weightBytes: number;
  kvBytesPerToken: number;
  kvBytes: number;
  contextLength: number;
  diskGb: number;
  splits: Split[];
}

/** The memory needed if the model is split across a number of GPUs. */
export interface Split {
  gpus: number;
  weightBytesPerGpu: number;
  kvBytesPerGpu: number;
  overheadBytesPerGpu: number;
  /** Minimum memory per GPU, in GB. */
  vramGbMin: number;
}

export function memoryOf(config: ModelConfig, request: MemoryRequest): Memory {
  const contextLength = contextLengthOf(config, request.contextLength);
  const parameters = config.layerParameters + config.embeddingParameters;
  const { bytesPerParameter, storedRatio } = config.weights;
  const computed = config.layerParameters * bytesPerParameter + config.embeddingParameters * BYTES_16_BIT;
  const weightBytes = request.storedBytes === null ? computed : request.storedBytes / storedRatio;
  const tokens = contextLength * request.concurrency;
  const kvBytesPerToken = kvBytesPerTokenOf(config, 1);
  const splits = allowedSplits(config).map((gpus) => {
    const weightBytesPerGpu = weightBytes / gpus;
    const kvBytesPerGpu = kvBytesPerTokenOf(config, gpus) * tokens;
    const overheadBytesPerGpu = overheadOf(config, gpus);
    const needed = (weightBytesPerGpu + kvBytesPerGpu + overheadBytesPerGpu) / MEMORY_SHARE;
    return { gpus, weightBytesPerGpu, kvBytesPerGpu, overheadBytesPerGpu, vramGbMin: labelFor(needed / GB) };
  });
  const diskGb = IMAGE_GB + (weightBytes * storedRatio * DISK_RATIO) / GB;
  if (![diskGb, ...splits.map(({ vramGbMin }) => vramGbMin)].every((gb) => gb <= MAX_GB))
    throw new DomainError('invalid_request', `config describes a model of more than ${MAX_GB} GB`, { field: 'config' });
  return {
    ...{ parameters, weightBytes, kvBytesPerToken, contextLength, splits },
    kvBytes: kvBytesPerToken * tokens,
    diskGb: Math.ceil(diskGb / DISK_STEP_GB) * DISK_STEP_GB,
  };
}

/** Returns the smallest memory, as vendors state it, of a GPU that has at least this many GB of 10^9 bytes. */
function labelFor(gb: number): number {
  const large = Math.ceil(gb / LARGE_RATIO);
  return large >= LARGE_GB ? large : Math.min(Math.ceil(gb), LARGE_GB);
}

function contextLengthOf({ maxContext }: ModelConfig, wanted: number | null): number {
  if (wanted === null) return Math.min(USUAL_CONTEXT, maxContext ?? USUAL_CONTEXT);
  if (maxContext === null || wanted <= maxContext) return wanted;
  throw new DomainError(
    'invalid_request',
    `contextLength must be a whole number from 1 to ${maxContext}, the model's maximum`,
    {
      field: 'contextLength',
    },
  );
}

/** Returns the cache's size per token on each of the GPUs. Each has at least one key-value head, or the latent vector. */
function kvBytesPerTokenOf({ layers, kvHeads, headDim, latent }: ModelConfig, gpus: number): number {
  const numbers = latent ?? 2 * Math.max(1, kvHeads / gpus) * headDim;
  return layers * numbers * BYTES_16_BIT;
}

/** Returns the numbers of GPUs by which vLLM can divide the attention heads and the feed-forward networks. */
function allowedSplits({ heads, kvHeads, latent, ffnWidths }: ModelConfig): number[] {
  const isShared = (gpus: number) => latent !== null || kvHeads % gpus === 0 || gpus % kvHeads === 0;
  return Array.from({ length: MAX_GPUS }, (_, index) => index + 1).filter(
    (gpus) => heads % gpus === 0 && isShared(gpus) && ffnWidths.every((width) => width % gpus === 0),
  );
}

/** Returns the memory per GPU for everything other than weights and cache. */
function overheadOf({ hidden, activeFfn }: ModelConfig, gpus: number): number {
  return FIXED_OVERHEAD + STEP_TOKENS * BYTES_16_BIT * (2 * hidden + (3 * activeFfn) / gpus);
}
