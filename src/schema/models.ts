import { modelFields } from '../domain/models/fields.js';
import { type ModelMemory, modelMemory } from '../domain/models/model-memory.js';
import { MEMORY_SHARE, type Split } from '../domain/models/rules/model-memory.js';
import { supportedGpus } from '../domain/models/supported-gpus.js';
import { atMost, builder, COUNTS_WITH_KEY, fromField } from './builder.js';

const WeightsFrom = builder.enumType('WeightsFrom', {
  description: 'Source of the size of the weights.',
  values: {
    HUB: { description: "The size of the model's files, as the hub states it." },
    CONFIG: { description: 'Computed from the config.json.' },
    REQUEST: { description: 'Computed from the number of parameters in the request.' },
  },
});

const ModelSplit = builder.objectRef<Split>('ModelSplit').implement({
  description: 'The memory that a model needs if it is split across a number of GPUs by tensor parallelism.',
  fields: (t) => ({
    gpus: t.exposeInt('gpus', {
      description: 'Number of GPUs, by which the attention heads and the layers can be divided.',
    }),
    vramGbMin: t.exposeInt('vramGbMin', {
      description: `Minimum memory per GPU in GB, of which vLLM uses ${MEMORY_SHARE * 100}%.`,
    }),
    weightBytesPerGpu: t.exposeFloat('weightBytesPerGpu', { description: 'Weights on each GPU, in bytes.' }),
    kvBytesPerGpu: t.exposeFloat('kvBytesPerGpu', { description: 'KV cache on each GPU, in bytes.' }),
    overheadBytesPerGpu: t.exposeFloat('overheadBytesPerGpu', {
      description: 'CUDA context, communication and activations on each GPU, in bytes.',
    }),
  }),
});

const ModelMemoryType = builder.objectRef<ModelMemory>('ModelMemory').implement({
  description: 'The GPU memory that a language model needs in vLLM.',
  fields: (t) => ({
    model: t.exposeString('model', {
      nullable: true,
      description: 'The model as `owner/name`; null if only a config.json was given.',
    }),
    architecture: t.exposeString('architecture', {
      nullable: true,
      description: 'Class that implements the model; null if the config.json names none.',
    }),
    parameters: t.exposeFloat('parameters', { description: 'Number of parameters.' }),
    weightBits: t.exposeInt('weightBits', {
      description: 'Bits per parameter, without the scales of quantised groups.',
    }),
    weightsFrom: t.expose('weightsFrom', { type: WeightsFrom, description: 'Source of the size of the weights.' }),
    weightBytes: t.exposeFloat('weightBytes', { description: 'Size of the weights in memory, in bytes.' }),
    kvBytesPerToken: t.exposeFloat('kvBytesPerToken', { description: 'Size of the KV cache per token, in bytes.' }),
    kvBytes: t.exposeFloat('kvBytes', {
      description: 'Size of the KV cache for `concurrency` requests of `contextLength` tokens, in bytes.',
    }),
    contextLength: t.exposeInt('contextLength', { description: 'Tokens per request.' }),
    maxContextLength: t.exposeInt('maxContextLength', {
      nullable: true,
      description: "The model's maximum of tokens per request; null if the config.json states none.",
    }),
    concurrency: t.exposeInt('concurrency', { description: 'Number of concurrent requests of this length.' }),
    diskGb: t.exposeInt('diskGb', { description: "Recommended disk in GB, for vLLM's image and the weights." }),
    gpus: t.idList({
      description: 'Slugs of the GPU models on which vLLM runs: those of NVIDIA since Ampere.',
      resolve: (_memory, _args, { deps }) => supportedGpus(deps),
    }),
    splits: t.field({
      type: [ModelSplit],
      ...atMost(8),
      description: 'The memory per GPU for each possible number of GPUs, fewest first.',
      resolve: ({ splits }) => splits,
    }),
  }),
});

builder.queryFields((t) => ({
  modelHub: t.string({
    nullable: true,
    description: 'Host of the hub from which modelMemory reads models; null if it needs a config. Public.',
    resolve: (_root, _args, { deps }) => deps.modelHub?.host ?? null,
  }),
  modelMemory: t.field({
    type: ModelMemoryType,
    ...COUNTS_WITH_KEY,
    nullable: true,
    description:
      'The GPU memory that a language model needs in vLLM, from its config.json. The gateway reads it from the hub by the name of the model, unless it is given as config. Public.',
    args: {
      model: t.arg.string(fromField(modelFields.model)),
      config: t.arg.string(fromField(modelFields.config)),
      contextLength: t.arg.int(fromField(modelFields.contextLength)),
      concurrency: t.arg.int(fromField(modelFields.concurrency)),
      parametersInBillions: t.arg.float(fromField(modelFields.parametersInBillions)),
      weightBits: t.arg.int(fromField(modelFields.weightBits)),
    },
    resolve: (_root, args, { deps, caller, visitor }) =>
      modelMemory(deps, caller?.accountId ?? visitor().address, args),
  }),
}));
