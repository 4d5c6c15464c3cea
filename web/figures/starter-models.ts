const COMMON = { num_key_value_heads: 8, tie_word_embeddings: false, torch_dtype: 'bfloat16' };

/**
 * Public models to begin with: a small, a medium and a large one, each with the members of its published config.json
 * that the formula reads. They need no access token.
 */
export const STARTERS = [
  {
    model: 'Qwen/Qwen2.5-7B-Instruct',
    name: 'Qwen2.5 7B',
    config: {
      ...COMMON,
      architectures: ['Qwen2ForCausalLM'],
      hidden_size: 3584,
      intermediate_size: 18_944,
      num_hidden_layers: 28,
      num_attention_heads: 28,
      num_key_value_heads: 4,
      vocab_size: 152_064,
      max_position_embeddings: 32_768,
    },
  },
  {
    model: 'Qwen/Qwen3-32B',
    name: 'Qwen3 32B',
    config: {
      ...COMMON,
      architectures: ['Qwen3ForCausalLM'],
      hidden_size: 5120,
      intermediate_size: 25_600,
      num_hidden_layers: 64,
      num_attention_heads: 64,
      head_dim: 128,
      vocab_size: 151_936,
      max_position_embeddings: 40_960,
    },
  },
  {
    model: 'deepseek-ai/DeepSeek-R1-Distill-Llama-70B',
    name: 'DeepSeek-R1-Distill 70B',
    config: {
      ...COMMON,
      architectures: ['LlamaForCausalLM'],
      hidden_size: 8192,
      intermediate_size: 28_672,
      num_hidden_layers: 80,
      num_attention_heads: 64,
      vocab_size: 128_256,
      max_position_embeddings: 131_072,
    },
  },
] as const;
