import { JsonTooLarge, parseJson } from '../../std/untrusted/json.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional } from '../kernel/field.js';
import type { ModelDeps } from './deps.js';
import { modelFields } from './fields.js';
import type { HubModel } from './hub.js';
import { readModelConfig } from './rules/model-config.js';
import { type Memory, memoryOf } from './rules/model-memory.js';
import { modelName } from './rules/model-name.js';

/** Host in the URLs of models if the gateway reads none. */
const USUAL_HUB = 'huggingface.co';
const MAX_DEPTH = 20;
const MAX_VALUES = 20_000;
const BILLION = 1e9;

export interface ModelMemoryInput {
  model?: string | null;
  config?: string | null;
  contextLength?: number | null;
  concurrency?: number | null;
  parametersInBillions?: number | null;
  weightBits?: number | null;
}

/** Source of the weights' size. */
export type WeightsFrom = 'HUB' | 'CONFIG' | 'REQUEST';

export interface ModelMemory extends Memory {
  /** The model as `owner/name`, or null if only a config.json was given. */
  model: string | null;
  architecture: string | null;
  maxContextLength: number | null;
  concurrency: number;
  weightBits: number;
  weightsFrom: WeightsFrom;
}

/**
 * Returns the GPU memory that a model needs in vLLM. The config.json comes from the input or, if the operator allows
 * it, from the hub. `client` is the account or address that requests it.
 */
export async function modelMemory(deps: ModelDeps, client: string, input: ModelMemoryInput): Promise<ModelMemory> {
  // Parsing a config takes milliseconds, and callers without a key have no other limit. Each alias counts.
  deps.takeModelMemory(client);
  const text = checkOptional('model', modelFields.model, input.model);
  const given = checkOptional('config', modelFields.config, input.config);
  const billions = checkOptional('parametersInBillions', modelFields.parametersInBillions, input.parametersInBillions);
  const weightBits = checkOptional('weightBits', modelFields.weightBits, input.weightBits);
  const contextLength = checkOptional('contextLength', modelFields.contextLength, input.contextLength) ?? null;
  const concurrency = checkOptional('concurrency', modelFields.concurrency, input.concurrency);
  const model = text === undefined ? null : modelName(text, deps.modelHub?.host ?? USUAL_HUB);
  const files = given === undefined ? await readFromHub(deps, model, client) : ofText(given);
  const parameters = billions === undefined ? undefined : billions * BILLION;
  const config = readModelConfig(parseConfig(files.config), { parameters, weightBits });
  // Values in the request replace the hub's size, which is for other weights.
  const storedBytes = parameters === undefined && weightBits === undefined ? files.storedBytes : null;
  return {
    ...memoryOf(config, { contextLength, concurrency, storedBytes }),
    ...{ model, concurrency },
    architecture: config.architecture,
    maxContextLength: config.maxContext,
    weightBits: config.weights.bits,
    weightsFrom: storedBytes !== null ? 'HUB' : parameters === undefined ? 'CONFIG' : 'REQUEST',
  };
}

function ofText(config: string): HubModel {
  return { config: Buffer.from(config), storedBytes: null };
}

async function readFromHub(
  { modelHub }: Pick<ModelDeps, 'modelHub'>,
  model: string | null,
  client: string,
): Promise<HubModel> {
  if (modelHub === null) {
    const message = "config is required, because this gateway reads no model hub: paste the model's config.json";
    throw new DomainError('invalid_request', message, { field: 'config' });
  }
  if (model === null) throw new DomainError('invalid_request', 'model or config is required', { field: 'model' });
  return modelHub.read(model, client);
}

function parseConfig(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES });
  } catch (error) {
    const must = error instanceof JsonTooLarge ? error.message.replace('the JSON', 'config') : 'config must be JSON';
    throw new DomainError('invalid_request', must, { field: 'config' });
  }
}
