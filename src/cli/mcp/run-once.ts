import { z } from 'zod';
import { createClient } from '../../client/index.js';
import { Run, type RunHooks } from '../../run/run.js';
import { askGraphql } from '../graphql.js';
import { describeRuntime } from '../runtime.js';
import { formatUsd } from '../table.js';
import { Output, outputOf } from './output.js';
import { MICRO, roomFor } from './price-cap.js';
import { type Answer, Refused, type Service, type Tool, tool, USD_PER_HOUR } from './tool.js';

const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 3_600;
/** The service itself destroys the instance after this additional time if this program is gone by then. */
const DESTROYED_AFTER_SECONDS = 120;
const MAX_COMMAND_CHARACTERS = 30_000;

const QUOTE = `query ($input: QuoteInput!) { quote(input: $input) {
  totalPriceHr diskPriceHr machine { gpu numGpus region } canDeploy refusal { code message } } }`;
const COST =
  'query ($id: ID!) { instance(id: $id) { id status gpu numGpus region priceHr diskPriceHr usage { total } } }';

const INPUT = {
  command: z
    .string()
    .min(1)
    .max(MAX_COMMAND_CHARACTERS)
    .describe('For /bin/sh in the container. It begins in /workspace, which is empty.'),
  image: z.string().max(1_000).optional().describe('OCI image or slug of a template; pytorch by default.'),
  gpus: z.array(z.string().max(100)).max(100).optional().describe('Slugs of GPU models, the most wanted first.'),
  regions: z.array(z.string().max(100)).max(100).optional().describe('Region codes, the most wanted first.'),
  numMin: z.number().optional().describe('GPUs at least.'),
  vramGbMin: z.number().optional().describe('Video memory of one GPU in GB, at least.'),
  diskGb: z.number().optional().describe('Disk in GB; 50 by default.'),
  env: z.record(z.string(), z.string()).optional().describe('Variables by name. Never put secrets here.'),
  secrets: z
    .array(z.strictObject({ secret: z.string(), variable: z.string().optional(), file: z.string().optional() }))
    .optional()
    .describe('Secrets of the account by name (list_secrets), each as a variable or as a file below /run/secrets.'),
  user: z
    .string()
    .max(65)
    .optional()
    .describe("User that runs it: root, or a name or number as of Docker's --user; by default the image's own."),
  maxPricePerHour: USD_PER_HOUR.describe(
    'The most that the user agreed to pay for machine and disk, in USD per hour. Above it nothing is rented.',
  ),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .default(DEFAULT_SECONDS)
    .describe('From the rental on, the pull of the image included; then the instance is destroyed.'),
};

type Input = z.output<z.ZodObject<typeof INPUT>>;

export const runOnce: Tool = tool({
  name: 'run',
  title: 'Run a command on a machine of its own',
  description: `Rents the cheapest machine that fits, runs a shell command in the image there, answers its exit code and the end of its output, and destroys the instance with all that it wrote. Costs at most maxPricePerHour for timeoutSeconds, and ${DESTROYED_AFTER_SECONDS} seconds more should this program be ended: quote tells the present price; tell the user both first. Each call rents anew. A pull of a large image takes minutes: for longer work use quote and deploy.`,
  input: INPUT,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  isLong: true,
  run,
});

async function run(service: Service, input: Input, signal: AbortSignal): Promise<Answer> {
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = setTimeout(() => ending.abort(new OutOfTime()), input.timeoutSeconds * 1_000);
  const [stdout, stderr] = [new Output(), new Output()];
  const hooks: RunHooks = {
    signal: ending.signal,
    onStep: () => {},
    describe: describeRuntime,
    onOutput: async (stream, chunk) => (stream === 'stdout' ? stdout : stderr).add(chunk),
  };
  try {
    const itself = await service.inTurn(() => rent(service, input, hooks));
    const code = await codeOf(itself);
    const { instance } = await askGraphql<{ instance: Rented }>(service.settings, COST, { id: itself.id });
    const ended = code === null ? `ended after ${input.timeoutSeconds} s without an exit code` : `exit code ${code}`;
    const cost = `cost ${formatUsd(instance.usage.total)} USD`;
    return {
      summary: `${ended}; ${cost}; ${instance.id} is ${instance.status.toLowerCase()}`,
      exitCode: code,
      ...outputOf(stdout, stderr),
      instance,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

interface Rented {
  id: string;
  status: string;
  usage: { total: number };
}

class OutOfTime extends Error {}

/** Rents within the cap of the call and the limit of the server, disk included. */
async function rent(service: Service, input: Input, hooks: RunHooks): Promise<Run> {
  const { command, image, gpus, regions, numMin, vramGbMin, diskGb, env, secrets, user, timeoutSeconds } = input;
  const filter = {
    hasAgent: true,
    ...(numMin !== undefined && { numMin }),
    ...(vramGbMin !== undefined && { vramGbMin }),
  };
  const launch = { ...(env && { env }), ...(secrets && { secrets }), ...(user !== undefined && { user }) };
  const asked = { gpus, regions, filter, template: image, diskGb, launch };
  const { quote } = await askGraphql<{ quote: Quoted }>(service.settings, QUOTE, { input: asked });
  if (quote.refusal !== null) throw new Refused(quote.refusal.code, quote.refusal.message);
  const room = await roomFor(service, input.maxPricePerHour, quote.totalPriceHr, 'rented');
  const { apiKey, baseUrl } = service.settings;
  const client = createClient({ baseUrl: baseUrl.value, ...(apiKey !== null && { apiKey: apiKey.value }) });
  const wanted = {
    ...{ gpus, regions, filter, image, diskGb, launch },
    maxPricePerHour: Math.floor((room - quote.diskPriceHr) * MICRO + 0.5) / MICRO,
    destroyAt: `${timeoutSeconds + DESTROYED_AFTER_SECONDS}s`,
    command: ['/bin/sh', '-c', command],
    terms: { out: [], keep: false },
    patienceSeconds: DESTROYED_AFTER_SECONDS,
  };
  return Run.deploy(client, wanted, hooks);
}

interface Quoted {
  totalPriceHr: number;
  diskPriceHr: number;
  refusal: { code: string; message: string } | null;
}

/** Returns the exit code; null when time ran out. The instance is destroyed in any case. */
async function codeOf(itself: Run): Promise<number | null> {
  try {
    await itself.open();
    return await itself.toTheEnd(process.cwd());
  } catch (error) {
    await itself.destroy();
    if (error instanceof OutOfTime) return null;
    throw error;
  } finally {
    await itself.close();
  }
}
