import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { ModelMemory, ModelMemoryRequest, ModelSplit } from '../client/index.js';
import { EXIT, Failure } from './failure.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import { show, type View } from './show.js';
import { type Column, number, table, text } from './table.js';

interface MemoryOptions {
  config?: string;
  contextLength?: number;
  concurrency?: number;
  parametersInBillions?: number;
  weightBits?: number;
  json?: boolean;
}

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);

const size = (heading: string, bytesOf: (split: ModelSplit) => number): Column<ModelSplit> =>
  text(heading, (split) => gigabytes(bytesOf(split)), { unit: 'GB', right: true });

const COLUMNS: readonly Column<ModelSplit>[] = [
  number('GPUS', ({ gpus }) => gpus),
  number('VRAM', ({ vram_gb_min }) => vram_gb_min, { unit: 'GB' }),
  size('WEIGHTS', ({ weight_bytes_per_gpu }) => weight_bytes_per_gpu),
  size('KV-CACHE', ({ kv_bytes_per_gpu }) => kv_bytes_per_gpu),
  size('OVERHEAD', ({ overhead_bytes_per_gpu }) => overhead_bytes_per_gpu),
];

const MEMORY: View<ModelMemory> = {
  lines: ({ splits }) => table(splits, COLUMNS),
  ids: () => [],
  remark: ({ parameters, weight_bits, context_length, concurrency, disk_gb }) =>
    `${gigabytes(parameters)} billion parameters of ${weight_bits} bits; ${concurrency} requests of ${context_length} tokens; disk of ${disk_gb} GB. Per GPU, of which vLLM uses 90%.`,
};

export function addModelCommands(program: Command): void {
  program
    .command('memory')
    .description('Show the GPU memory that a language model needs')
    .argument('[model]', 'Model, such as Qwen/Qwen2.5-7B-Instruct, or its URL')
    .option('--config <file>', "File with the model's config.json, if the gateway reads no hub")
    .option('--context-length <tokens>', "Tokens per request (default: 8192, or the model's maximum)", amount)
    .option('--concurrency <n>', 'Number of concurrent requests of this length (default: 4)', amount)
    .option('--parameters-in-billions <n>', 'Number of parameters, if the formula is wrong for the model', amount)
    .option('--weight-bits <bits>', 'Bits per parameter: 4, 8 or 16 (default: as in the config.json)', amount)
    .option('--json', "Print the service's JSON response unchanged")
    .action((model: string | undefined, options: MemoryOptions, command: Command) =>
      show(
        openSession(command, { needsKey: false }),
        options,
        (client) => client.models.memory(requestOf(model, options)),
        MEMORY,
      ),
    );
}

function requestOf(model: string | undefined, options: MemoryOptions): ModelMemoryRequest {
  const { config, contextLength, concurrency, parametersInBillions, weightBits } = options;
  return {
    ...(model !== undefined && { model }),
    ...(config !== undefined && { config: readText(config) }),
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(concurrency !== undefined && { concurrency }),
    ...(parametersInBillions !== undefined && { parameters_in_billions: parametersInBillions }),
    ...(weightBits !== undefined && { weight_bits: weightBits as ModelMemoryRequest['weight_bits'] }),
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(EXIT.usage, `--config can't be read: ${(error as Error).message}`);
  }
}
