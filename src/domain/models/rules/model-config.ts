import { DomainError } from '../../kernel/errors.js';

type Json = Readonly<Record<string, unknown>>;

/** The parts of a decoder-only transformer that decide how much memory it needs. */
export interface ModelConfig {
  /** Class that implements the model, or null if the configuration doesn't name one. */
  architecture: string | null;
  layers: number;
  hidden: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  /** Width of the feed-forward network that a token passes through, summed over its experts. */
  activeFfn: number;
  /** Widths that tensor parallelism splits. */
  ffnWidths: readonly number[];
  /** Width of the latent vector that is cached instead of keys and values, or null without it. */
  latent: number | null;
  /** Number of parameters in the layers, which quantisation compresses. */
  layerParameters: number;
  /** Number of parameters in the embedding and the output matrix, which stay uncompressed. */
  embeddingParameters: number;
  /** Maximum number of tokens in a sequence, or null if it isn't stated. */
  maxContext: number | null;
  weights: WeightFormat;
}

/** Format of the weights. */
export interface WeightFormat {
  /** Bits per parameter in the layers, without scales. */
  bits: number;
  /** Bytes per parameter in the layers, including the scales of quantised groups. */
  bytesPerParameter: number;
  /** Ratio of the size in storage to the size in memory: vLLM loads 32-bit weights as 16-bit ones. */
  storedRatio: number;
}

/** Bytes per uncompressed parameter and per cached number. */
export const BYTES_16_BIT = 2;
const MAX_PARAMETERS = 1e14;
/** Number of parameters that share a scale unless the configuration says otherwise. */
const GROUP_SIZE = 128;
/** A 16-bit scale and a 4-bit zero point. */
const BYTES_PER_GROUP = 2.5;
/** Number of matrices in a feed-forward network with a gate, and in one without. */
const [GATED, UNGATED] = [3, 2];
const UNGATED_TYPES = ['opt', 'gpt_neox', 'phi', 'starcoder2', 'nemotron', 'persimmon'];
/** Members that only occur in models with layers other than attention. */
const OTHER_LAYERS = ['ssm_cfg', 'state_size', 'mamba_d_state', 'hybrid_override_pattern', 'linear_num_value_heads'];

const FULL_BITS: Readonly<Record<string, number>> = {
  float32: 32,
  float: 32,
  float16: 16,
  half: 16,
  bfloat16: 16,
  float8_e4m3fn: 8,
  float8_e5m2: 8,
  int8: 8,
};
/** Bits by quantisation method, for methods whose configuration doesn't state them. */
const METHOD_BITS: Readonly<Record<string, number>> = { fp8: 8, fbgemm_fp8: 8, modelopt: 8, awq: 4, gptq: 4, mxfp4: 4 };
/** Bytes per group of methods whose scales take one byte. */
const SMALL_SCALES: Readonly<Record<string, readonly [size: number, bytes: number]>> = { mxfp4: [32, 1] };

export interface ConfigOverrides {
  /** Number of parameters. */
  parameters?: number | undefined;
  weightBits?: number | undefined;
}

/**
 * Reads a model's config.json, which may contain anything. Throws invalid_request naming the member and its bounds for
 * a configuration that the formula doesn't cover.
 */
export function readModelConfig(value: unknown, { parameters, weightBits }: ConfigOverrides = {}): ModelConfig {
  const top = objectOf(value, 'config');
  const isNested = has(top, 'text_config');
  const prefix = isNested ? 'config.text_config' : 'config';
  const model = new Members(isNested ? objectOf(top.text_config, prefix) : top, prefix);
  checkCovered(top, model);
  const [layers, hidden, heads] = [
    model.whole(['num_hidden_layers', 'n_layer'], 1, 10_000),
    model.whole(['hidden_size', 'n_embd'], 1, 1_000_000),
    model.whole(['num_attention_heads', 'n_head'], 1, 10_000),
  ];
  const kvHeads = model.whole(['num_key_value_heads'], 1, 10_000, heads);
  const headDim = model.whole(['head_dim'], 1, 100_000, Math.ceil(hidden / heads));
  const latentRank = model.whole(['kv_lora_rank'], 0, 1_000_000, 0);
  const rope = model.whole(['qk_rope_head_dim'], 0, 100_000, 0);
  const ffn = feedForwardOf(model, { hidden, layers }, parameters !== undefined);
  const vocabulary = model.whole(['vocab_size'], 1, 100_000_000, parameters === undefined ? undefined : 1);
  // Absent members have the defaults of the transformers library.
  const isTied = model.flag('tie_word_embeddings') ?? new Members(top, 'config').flag('tie_word_embeddings') ?? true;
  const attention =
    latentRank === 0
      ? hidden * headDim * (2 * heads + 2 * kvHeads)
      : latentAttentionOf(model, { hidden, heads, latentRank, rope });
  const embeddingParameters = vocabulary * hidden * (isTied ? 1 : 2);
  const layerParameters =
    parameters === undefined
      ? layers * attention + ffn.parameters
      : Math.max(0, parameters - Math.min(parameters, embeddingParameters));
  const total = layerParameters + embeddingParameters;
  if (total > MAX_PARAMETERS)
    throw refusal(`config describes more than ${MAX_PARAMETERS.toLocaleString('en')} parameters`);
  return {
    architecture: architectureOf(top),
    ...{ layers, hidden, heads, kvHeads, headDim },
    activeFfn: ffn.active,
    ffnWidths: ffn.widths,
    latent: latentRank === 0 ? null : latentRank + rope,
    layerParameters,
    embeddingParameters: parameters === undefined ? embeddingParameters : Math.min(parameters, embeddingParameters),
    maxContext: maxContextOf(model),
    weights: weightFormatOf(top, model, weightBits),
  };
}

function checkCovered(top: Json, model: Members): void {
  if (top.is_encoder_decoder === true)
    throw refusal('config.is_encoder_decoder must be false: the formula covers only decoder-only transformers');
  const other = OTHER_LAYERS.find((name) => model.has(name));
  if (other !== undefined)
    throw refusal(`config has ${other}: the formula covers only models whose layers all use attention`);
}

/** Counts the matrices of attention over a latent vector, as in DeepSeek-V2 and V3. */
function latentAttentionOf(
  model: Members,
  { hidden, heads, latentRank, rope }: { hidden: number; heads: number; latentRank: number; rope: number },
): number {
  const plain = model.whole(['qk_nope_head_dim'], 1, 100_000);
  const value = model.whole(['v_head_dim'], 1, 100_000);
  const queryRank = model.whole(['q_lora_rank'], 0, 1_000_000, 0);
  const queries = heads * (plain + rope);
  const query = queryRank === 0 ? hidden * queries : queryRank * (hidden + queries);
  return query + hidden * (latentRank + rope) + latentRank * heads * (plain + value) + heads * value * hidden;
}

interface FeedForward {
  parameters: number;
  active: number;
  widths: readonly number[];
}

function feedForwardOf(
  model: Members,
  { hidden, layers }: { hidden: number; layers: number },
  isOptional: boolean,
): FeedForward {
  const matrices = UNGATED_TYPES.includes(model.text('model_type') ?? '') ? UNGATED : GATED;
  const experts = model.whole(['num_experts', 'num_local_experts', 'n_routed_experts'], 0, 100_000, 0);
  const dense = ['intermediate_size', 'ffn_dim', 'n_inner'];
  if (experts <= 1) {
    const width = model.whole(dense, 1, 10_000_000, isOptional ? 4 * hidden : undefined);
    return { parameters: layers * matrices * hidden * width, active: width, widths: [width] };
  }
  const width = model.whole(['moe_intermediate_size', ...dense], 1, 10_000_000);
  const active = model.whole(['num_experts_per_tok', 'moe_topk'], 1, experts, Math.min(2, experts));
  const shared =
    model.whole(['shared_expert_intermediate_size'], 0, 10_000_000, 0) ||
    model.whole(['n_shared_experts'], 0, 1_000, 0) * width;
  const denseLayers = Math.max(
    model.whole(['first_k_dense_replace'], 0, layers, 0),
    Math.min(layers, model.length('mlp_only_layers')),
  );
  const denseWidth = denseLayers === 0 ? 0 : model.whole(dense, 1, 10_000_000);
  const sparse = matrices * hidden * (experts * width + shared) + hidden * experts;
  return {
    parameters: denseLayers * matrices * hidden * denseWidth + (layers - denseLayers) * sparse,
    active: Math.max(active * width + shared, denseWidth),
    widths: denseLayers === 0 ? [width] : [width, denseWidth],
  };
}

function maxContextOf(model: Members): number | null {
  const positions = model.whole(['max_position_embeddings', 'n_positions'], 1, 1_000_000_000, 0);
  const scaling = model.object('rope_scaling');
  if (scaling === null || positions === 0) return positions || null;
  const original = scaling.whole(['original_max_position_embeddings'], 1, 1_000_000_000, 0);
  const factor = scaling.number('factor', 1, 10_000) ?? 1;
  return Math.max(positions, Math.floor(original * factor));
}

function weightFormatOf(top: Json, model: Members, weightBits: number | undefined): WeightFormat {
  if (weightBits !== undefined) return formatOf(weightBits, weightBits <= 4 ? [GROUP_SIZE, BYTES_PER_GROUP] : null);
  const outer = new Members(top, 'config');
  const quantisation = outer.object('quantization_config') ?? model.object('quantization_config');
  if (quantisation !== null) return quantisedFormatOf(quantisation);
  const type = model.text('dtype') ?? model.text('torch_dtype') ?? outer.text('dtype') ?? outer.text('torch_dtype');
  if (type === null) return formatOf(16, null);
  const bits = has(FULL_BITS, type) ? FULL_BITS[type]! : undefined;
  if (bits === undefined) throw refusal(`config.dtype must be one of ${Object.keys(FULL_BITS).join(', ')}`);
  return formatOf(bits, null);
}

function quantisedFormatOf(config: Members): WeightFormat {
  const method = config.text('quant_method') ?? '';
  const isHalf = config.flag('load_in_4bit') === true || /fp4/i.test(config.text('quant_algo') ?? '');
  const implied = isHalf ? 4 : config.flag('load_in_8bit') === true ? 8 : own(METHOD_BITS, method);
  const bits =
    config.whole(['bits', 'w_bit', 'weight_bits'], 1, 16, 0) || groupBitsOf(config) || implied || refuseMethod(method);
  const small = own(SMALL_SCALES, method);
  if (small !== undefined) return formatOf(bits, small);
  const size = config.whole(['group_size'], -1, 1_000_000, GROUP_SIZE);
  // A whole column shares a scale if there are no groups.
  return formatOf(bits, bits > 4 || size <= 0 ? null : [size, BYTES_PER_GROUP]);
}

/** Reads the bits from the format of the compressed-tensors library, or returns 0. */
function groupBitsOf(config: Members): number {
  const groups = config.object('config_groups');
  const first = groups?.first() ?? null;
  return first?.object('weights')?.whole(['num_bits'], 1, 16, 0) ?? 0;
}

function refuseMethod(method: string): never {
  const known = Object.keys(METHOD_BITS).join(', ');
  throw refusal(
    `config.quantization_config must have bits, or a quant_method of ${known}${method === '' ? '' : `; got ${method.slice(0, 40)}`}. Give weightBits instead`,
  );
}

function formatOf(bits: number, group: readonly [size: number, bytes: number] | null): WeightFormat {
  const inMemory = Math.min(bits, 16);
  const bytesPerParameter = inMemory / 8 + (group === null ? 0 : group[1] / group[0]);
  return { bits: inMemory, bytesPerParameter, storedRatio: bits / inMemory };
}

function architectureOf({ architectures }: Json): string | null {
  const [first] = Array.isArray(architectures) ? architectures : [];
  return typeof first === 'string' && /^\w{1,100}$/.test(first) ? first : null;
}

/** The members of a JSON object of unknown content. A member that is null counts as absent. */
class Members {
  readonly #of: Json;
  readonly #path: string;

  constructor(of: Json, path: string) {
    this.#of = of;
    this.#path = path;
  }

  has(name: string): boolean {
    return has(this.#of, name);
  }

  /** Returns the first present member, which must be a whole number. Without a default, one of them is required. */
  whole(names: readonly string[], min: number, max: number, usual?: number): number {
    const name = names.find((each) => this.has(each));
    if (name === undefined) {
      if (usual !== undefined) return usual;
      throw refusal(`${this.#path}.${names[0]} is missing; it must be a whole number from ${min} to ${max}`);
    }
    const value = this.#of[name];
    if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    throw refusal(`${this.#path}.${name} must be a whole number from ${min} to ${max}`);
  }

  number(name: string, min: number, max: number): number | null {
    if (!this.has(name)) return null;
    const value = this.#of[name];
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw refusal(`${this.#path}.${name} must be a number from ${min} to ${max}`);
  }

  flag(name: string): boolean | null {
    const value = this.has(name) ? this.#of[name] : null;
    if (value === null || typeof value === 'boolean') return value;
    throw refusal(`${this.#path}.${name} must be true or false`);
  }

  text(name: string): string | null {
    const value = this.has(name) ? this.#of[name] : null;
    if (value === null || typeof value === 'string') return value;
    throw refusal(`${this.#path}.${name} must be a string`);
  }

  object(name: string): Members | null {
    const path = `${this.#path}.${name}`;
    return this.has(name) ? new Members(objectOf(this.#of[name], path), path) : null;
  }

  /** Returns the first member if it is an object. */
  first(): Members | null {
    const [name] = Object.keys(this.#of);
    return name === undefined ? null : this.object(name);
  }

  length(name: string): number {
    const value = this.has(name) ? this.#of[name] : [];
    if (Array.isArray(value)) return value.length;
    throw refusal(`${this.#path}.${name} must be a list`);
  }
}

/** Whether the object itself has a member that isn't null. */
function has(of: Json, name: string): boolean {
  return own(of, name) !== undefined && of[name] !== null;
}

function own<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined;
}

function objectOf(value: unknown, path: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw refusal(`${path} must be a JSON object`);
}

function refusal(message: string): DomainError {
  return new DomainError('invalid_request', message, { field: 'config' });
}
