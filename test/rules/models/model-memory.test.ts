import { describe, expect, it, test } from 'vitest';
import { readModelConfig } from '../../../src/domain/models/rules/model-config.js';
import { memoryOf } from '../../../src/domain/models/rules/model-memory.js';
import { STARTERS } from '../../../web/figures/starter-models.js';
import { QWEN_7B } from '../../support/hub.js';

const GB = 1e9;

/** The members of each model's published config.json that the formula reads. */
const LLAMA_8B = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14_336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128_256,
  max_position_embeddings: 131_072,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};
const LLAMA_70B = {
  ...LLAMA_8B,
  hidden_size: 8192,
  intermediate_size: 28_672,
  num_hidden_layers: 80,
  num_attention_heads: 64,
};
const QWEN_32B = {
  ...QWEN_7B,
  hidden_size: 5120,
  intermediate_size: 27_648,
  num_hidden_layers: 64,
  num_attention_heads: 40,
  num_key_value_heads: 8,
};
const MISTRAL_7B = { ...LLAMA_8B, model_type: 'mistral', vocab_size: 32_768, max_position_embeddings: 32_768 };
const MIXTRAL = { ...MISTRAL_7B, vocab_size: 32_000, num_local_experts: 8, num_experts_per_tok: 2 };
const QWEN_MOE = {
  model_type: 'qwen3_moe',
  hidden_size: 2048,
  intermediate_size: 6144,
  moe_intermediate_size: 768,
  num_experts: 128,
  num_experts_per_tok: 8,
  num_hidden_layers: 48,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  head_dim: 128,
  vocab_size: 151_936,
  max_position_embeddings: 40_960,
  mlp_only_layers: [],
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};
const DEEPSEEK_V3 = {
  model_type: 'deepseek_v3',
  hidden_size: 7168,
  intermediate_size: 18_432,
  moe_intermediate_size: 2048,
  n_routed_experts: 256,
  n_shared_experts: 1,
  num_experts_per_tok: 8,
  first_k_dense_replace: 3,
  num_hidden_layers: 61,
  num_attention_heads: 128,
  num_key_value_heads: 128,
  q_lora_rank: 1536,
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  vocab_size: 129_280,
  max_position_embeddings: 163_840,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
  quantization_config: { quant_method: 'fp8', fmt: 'e4m3', weight_block_size: [128, 128] },
};
const GEMMA_9B = {
  model_type: 'gemma2',
  hidden_size: 3584,
  intermediate_size: 14_336,
  num_hidden_layers: 42,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 256,
  vocab_size: 256_000,
  max_position_embeddings: 8192,
  torch_dtype: 'bfloat16',
};
const GPT_OSS_20B = {
  model_type: 'gpt_oss',
  hidden_size: 2880,
  intermediate_size: 2880,
  num_local_experts: 32,
  num_experts_per_tok: 4,
  num_hidden_layers: 24,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 64,
  vocab_size: 201_088,
  tie_word_embeddings: false,
  quantization_config: { quant_method: 'mxfp4' },
};
const OPT_125M = {
  model_type: 'opt',
  hidden_size: 768,
  ffn_dim: 3072,
  num_hidden_layers: 12,
  num_attention_heads: 12,
  vocab_size: 50_272,
  max_position_embeddings: 2048,
  torch_dtype: 'float16',
};

const memory = (config: object, request: Partial<Parameters<typeof memoryOf>[1]> = {}) =>
  memoryOf(readModelConfig(config), { contextLength: null, concurrency: 1, storedBytes: null, ...request });
const splits = (config: object) => memory(config).splits.map(({ gpus }) => gpus);

describe('the number of parameters', () => {
  test.each([
    ['Llama-3.1-8B', LLAMA_8B, 8.03],
    ['Llama-3.3-70B', LLAMA_70B, 70.6],
    ['Qwen2.5-7B', QWEN_7B, 7.62],
    ['Qwen2.5-32B', QWEN_32B, 32.8],
    ['Mistral-7B-v0.3', MISTRAL_7B, 7.25],
    ['Mixtral-8x7B', MIXTRAL, 46.7],
    ['Qwen3-30B-A3B', QWEN_MOE, 30.5],
    ['DeepSeek-V3', DEEPSEEK_V3, 671],
    ['Gemma-2-9b', GEMMA_9B, 9.24],
    ['gpt-oss-20b', GPT_OSS_20B, 20.9],
    ['opt-125m', OPT_125M, 0.125],
  ])('of %s is within 2% of the published one', (_name, config, billions) => {
    expect(Math.abs(memory(config).parameters / (billions * GB) - 1)).toBeLessThan(0.02);
  });

  it("is within 2% of the published one for the console's models to begin with", () => {
    const published = [7.62, 32.8, 70.6];
    const ratios = STARTERS.map(({ config }, place) => memory(config).parameters / (published[place]! * GB));
    expect(ratios.filter((ratio) => Math.abs(ratio - 1) >= 0.02)).toEqual([]);
    expect(ratios).toHaveLength(published.length);
  });

  it('is the same in a nested text_config', () => {
    const nested = { architectures: ['Gemma3ForConditionalGeneration'], text_config: GEMMA_9B };
    expect(memory(nested)).toEqual(memory(GEMMA_9B));
  });
});

describe('the size of the weights', () => {
  test.each([
    ['bfloat16', QWEN_7B, 15.23],
    ['float32, which vLLM loads as float16', { ...QWEN_7B, torch_dtype: 'float32' }, 15.23],
    ['no type', { ...QWEN_7B, torch_dtype: null }, 15.23],
    // Sizes of Qwen2.5-7B-Instruct-AWQ, gpt-oss-20b and DeepSeek-V3 on the hub, the last without its 14 GB of MTP.
    ['AWQ', { ...QWEN_7B, quantization_config: { quant_method: 'awq', bits: 4, group_size: 128 } }, 5.57],
    ['fp8', DEEPSEEK_V3, 672.8],
    ['mxfp4', GPT_OSS_20B, 12.8],
    ['bitsandbytes', { ...QWEN_7B, quantization_config: { quant_method: 'bitsandbytes', load_in_4bit: true } }, 5.57],
    [
      'compressed tensors of 8 bits',
      {
        ...QWEN_7B,
        quantization_config: {
          quant_method: 'compressed-tensors',
          config_groups: { group_0: { weights: { num_bits: 8 } } },
        },
      },
      8.7,
    ],
  ])('of %s is within 2%% of the real one', (_name, config, gigabytes) => {
    expect(Math.abs(memory(config).weightBytes / (gigabytes * GB) - 1)).toBeLessThan(0.02);
  });

  it('is the one that the hub states, if known', () => {
    expect(memory(QWEN_7B, { storedBytes: 15 * GB }).weightBytes).toBe(15 * GB);
    expect(memory({ ...QWEN_7B, torch_dtype: 'float32' }, { storedBytes: 30 * GB }).weightBytes).toBe(15 * GB);
  });

  it('follows the number of parameters and the bits of the request', () => {
    const config = readModelConfig(
      { ...QWEN_7B, intermediate_size: null, vocab_size: null },
      { parameters: 8 * GB, weightBits: 8 },
    );
    const { parameters, weightBytes } = memoryOf(config, { contextLength: null, concurrency: 1, storedBytes: null });
    expect(parameters).toBe(8 * GB);
    expect(weightBytes / GB).toBeCloseTo(8, 1);
  });
});

describe('the KV cache', () => {
  it('holds two vectors per key-value head and layer', () => {
    expect(memory(LLAMA_8B).kvBytesPerToken).toBe(2 * 32 * 8 * 128 * 2);
    expect(memory(QWEN_7B, { contextLength: 1_000, concurrency: 3 }).kvBytes).toBe(2 * 28 * 4 * 128 * 2 * 3_000);
  });

  it('holds the latent vector of DeepSeek-V3 on each GPU', () => {
    const { kvBytesPerToken, kvBytes, splits } = memory(DEEPSEEK_V3);
    expect(kvBytesPerToken).toBe(61 * (512 + 64) * 2);
    expect(splits.map(({ kvBytesPerGpu }) => kvBytesPerGpu)).toEqual(splits.map(() => kvBytes));
  });

  it('has at least one head on each GPU', () => {
    const { kvBytes, splits } = memory({ ...LLAMA_8B, num_key_value_heads: 2 });
    expect(splits.map(({ gpus, kvBytesPerGpu }) => [gpus, kvBytes / kvBytesPerGpu])).toEqual([
      [1, 1],
      [2, 2],
      [4, 2],
      [8, 2],
    ]);
  });

  it('is for 8192 tokens unless the model or the request says otherwise', () => {
    expect(memory(LLAMA_8B).contextLength).toBe(8_192);
    expect(memory(OPT_125M).contextLength).toBe(2_048);
    expect(memory(LLAMA_8B, { contextLength: 131_072 }).contextLength).toBe(131_072);
    expect(() => memory(LLAMA_8B, { contextLength: 131_073 })).toThrow(
      "contextLength must be a whole number from 1 to 131072, the model's maximum",
    );
  });

  it('may be as long as the scaled positions', () => {
    const scaled = { ...QWEN_7B, rope_scaling: { type: 'yarn', factor: 4, original_max_position_embeddings: 32_768 } };
    expect(readModelConfig(scaled).maxContext).toBe(131_072);
  });
});

describe('the number of GPUs', () => {
  it('divides attention heads, key-value heads and feed-forward networks', () => {
    expect(splits(LLAMA_70B)).toEqual([1, 2, 4, 8]);
    // 7 divides the 28 attention heads but not the 4 key-value heads.
    expect(splits(QWEN_7B)).toEqual([1, 2, 4]);
    expect(splits(OPT_125M)).toEqual([1, 2, 3, 4, 6]);
    expect(splits({ ...LLAMA_8B, intermediate_size: 14_337 })).toEqual([1]);
    expect(splits(DEEPSEEK_V3)).toEqual([1, 2, 4, 8]);
  });

  it('decides the memory that each GPU needs', () => {
    const [one, two, four] = memory(LLAMA_70B).splits;
    expect(one).toMatchObject({ gpus: 1, vramGbMin: 154 });
    expect(two).toMatchObject({ gpus: 2, vramGbMin: 80 });
    expect(four).toMatchObject({ gpus: 4, vramGbMin: 42 });
    const { weightBytesPerGpu, kvBytesPerGpu, overheadBytesPerGpu, vramGbMin } = four!;
    const needed = (weightBytesPerGpu + kvBytesPerGpu + overheadBytesPerGpu) / 0.9 / GB;
    expect(vramGbMin).toBe(Math.ceil(needed));
  });
});

it('recommends a disk for the image and the stored weights', () => {
  expect(memory(QWEN_7B).diskGb).toBe(60);
  expect(memory({ ...QWEN_7B, torch_dtype: 'float32' }).diskGb).toBe(80);
});

describe('a configuration that may contain anything', () => {
  test.each<[string, unknown, string]>([
    ['no object', [], 'config must be a JSON object'],
    ['null', null, 'config must be a JSON object'],
    ['nothing', {}, 'config.num_hidden_layers is missing; it must be a whole number from 1 to 10000'],
    ['a string', { ...LLAMA_8B, hidden_size: '4096' }, 'config.hidden_size must be a whole number from 1 to 1000000'],
    [
      'a negative number',
      { ...LLAMA_8B, vocab_size: -1 },
      'config.vocab_size must be a whole number from 1 to 100000000',
    ],
    [
      'infinity',
      JSON.parse('{"num_hidden_layers": 1e999}'),
      'config.num_hidden_layers must be a whole number from 1 to 10000',
    ],
    [
      'groups smaller than a weight',
      { ...QWEN_7B, quantization_config: { quant_method: 'awq', bits: 4, group_size: 1e-200 } },
      'config.quantization_config.group_size must be a whole number from -1 to 1000000',
    ],
    ['a fraction', { ...LLAMA_8B, head_dim: 0.5 }, 'config.head_dim must be a whole number from 1 to 100000'],
    ['a list', { ...LLAMA_8B, num_attention_heads: [32] }, 'config.num_attention_heads must be a whole number'],
    ['a nested string', { text_config: 'x' }, 'config.text_config must be a JSON object'],
    ['a nested gap', { text_config: {} }, 'config.text_config.num_hidden_layers is missing'],
    ['an unknown type', { ...LLAMA_8B, torch_dtype: 'constructor' }, 'config.dtype must be one of float32'],
    [
      'too many experts used',
      { ...MIXTRAL, num_experts_per_tok: 9 },
      'config.num_experts_per_tok must be a whole number from 1 to 8',
    ],
    [
      'more dense layers than layers',
      { ...DEEPSEEK_V3, first_k_dense_replace: 62 },
      'config.first_k_dense_replace must be a whole number from 0 to 61',
    ],
    [
      'a huge model',
      { ...LLAMA_8B, hidden_size: 1_000_000, intermediate_size: 10_000_000 },
      'config describes more than 100,000,000,000,000 parameters',
    ],
    [
      'an unknown quantisation',
      { ...LLAMA_8B, quantization_config: { quant_method: 'toString' } },
      'config.quantization_config must have bits',
    ],
    [
      'a wrong quantisation',
      { ...LLAMA_8B, quantization_config: 4 },
      'config.quantization_config must be a JSON object',
    ],
    [
      'wrong bits',
      { ...LLAMA_8B, quantization_config: { bits: 64 } },
      'config.quantization_config.bits must be a whole number from 1 to 16',
    ],
    ['a wrong flag', { ...LLAMA_8B, tie_word_embeddings: 'no' }, 'config.tie_word_embeddings must be true or false'],
    ['an encoder', { ...LLAMA_8B, is_encoder_decoder: true }, 'config.is_encoder_decoder must be false'],
    ['state-space layers', { ...LLAMA_8B, mamba_d_state: 16 }, 'config has mamba_d_state'],
    [
      'members of the prototype',
      JSON.parse('{"__proto__": {"num_hidden_layers": 3}}'),
      'config.num_hidden_layers is missing',
    ],
  ])('is refused with %s', (_what, config, message) => {
    expect(() => readModelConfig(config)).toThrow(message);
  });

  it('is refused if it describes a model that is too large', () => {
    const impossible = { ...LLAMA_8B, num_hidden_layers: 1, num_attention_heads: 10_000, head_dim: 100_000 };
    expect(() => memory({ ...impossible, num_key_value_heads: 10_000 }, { concurrency: 10_000 })).toThrow(
      'config describes a model of more than 1000000 GB',
    );
  });

  it('names only plain architectures', () => {
    expect(readModelConfig(LLAMA_8B).architecture).toBe('LlamaForCausalLM');
    expect(readModelConfig({ ...LLAMA_8B, architectures: ['<b>'] }).architecture).toBeNull();
    expect(readModelConfig({ ...LLAMA_8B, architectures: 'x' }).architecture).toBeNull();
  });
});
