import { z } from 'zod';
import { createClient } from '../../client/index.js';
import { Run, type RunHooks } from '../../run/run.js';
import { queryGraphql } from '../graphql.js';
import { describeRuntime } from '../runtime.js';
import { formatUsd } from '../table.js';
import { Output, outputOf } from './output.js';
import { MICRO, roomFor } from './price-cap.js';
import { type Answer, Refused, type Service, type Tool, tool, USD_PER_HOUR } from './tool.js';

const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 3_600;
/** Extra time before the service destroys the instance, in case this program exits before doing so. */
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
    .describe('Command line for /bin/sh in the container. It starts in /workspace, which is empty.'),
  image: z.string().max(1_000).optional().describe('OCI image, or slug of a template; pytorch by default.'),
  gpus: z
    .array(z.string().max(100))
    .max(100)
    .optional()
    .describe('Slugs of GPU models, most preferred first; all by default.'),
  regions: z
    .array(z.string().max(100))
    .max(100)
    .optional()
    .describe('Region codes, most preferred first; all by default.'),
  numMin: z.number().optional().describe('Minimum number of GPUs.'),
  vramGbMin: z.number().optional().describe('Minimum video memory per GPU, in GB.'),
  diskGb: z.number().optional().describe('Disk in GB; 50 by default.'),
  env: z.record(z.string(), z.string()).optional().describe('Environment variables by name. Never put secrets here.'),
  secrets: z
    .array(z.strictObject({ secret: z.string(), variable: z.string().optional(), file: z.string().optional() }))
    .optional()
    .describe(
      "The account's secrets by name (list_secrets), each passed as a variable or as a file under /run/secrets.",
    ),
  user: z
    .string()
    .max(65)
    .optional()
    .describe("User that runs it: root, or a name or number as for Docker's --user; the image's by default."),
  maxPricePerHour: USD_PER_HOUR.describe(
    'Maximum that the user agreed to pay for the machine and its disk, in USD per hour. Nothing is rented above it.',
  ),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .default(DEFAULT_SECONDS)
    .describe('Seconds from the rental until the instance is destroyed, including the image pull.'),
};

type Input = z.output<z.ZodObject<typeof INPUT>>;

export const runOnce: Tool = tool({
  name: 'run',
  title: 'Run a command on a new instance',
  description: `Rents the cheapest machine that matches, runs a shell command in the image, returns its exit code and the end of its output, and destroys the instance with all its files. Costs at most maxPricePerHour for timeoutSeconds, plus ${DESTROYED_AFTER_SECONDS} seconds if this program exits early. Show the user that cap and the current price of quote first. Each call rents a new instance. Pulling a large image takes minutes: use quote and deploy for longer work.`,
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
  const timer = setTimeout(() => ending.abort(new TimedOut()), input.timeoutSeconds * 1_000);
  const [stdout, stderr] = [new Output(), new Output()];
  const hooks: RunHooks = {
    signal: ending.signal,
    onStep: () => {},
    describe: describeRuntime,
    onOutput: async (stream, chunk) => (stream === 'stdout' ? stdout : stderr).add(chunk),
  };
  try {
    const rented = await service.inTurn(() => rent(service, input, hooks));
    const code = await codeOf(rented);
    const { instance } = await queryGraphql<{ instance: Billed }>(service.settings, COST, { id: rented.id });
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

interface Billed {
  id: string;
  status: string;
  usage: { total: number };
}

class TimedOut extends Error {}

/** Rents an instance within the call's cap and the server's limit. Both include the disk. */
async function rent(service: Service, input: Input, hooks: RunHooks): Promise<Run> {
  const { command, image, gpus, regions, numMin, vramGbMin, diskGb, env, secrets, user, timeoutSeconds } = input;
  const filter = {
    hasAgent: true,
    ...(numMin !== undefined && { numMin }),
    ...(vramGbMin !== undefined && { vramGbMin }),
  };
  const launch = { ...(env && { env }), ...(secrets && { secrets }), ...(user !== undefined && { user }) };
  const quoted = { gpus, regions, filter, template: image, diskGb, launch };
  const { quote } = await queryGraphql<{ quote: Quoted }>(service.settings, QUOTE, { input: quoted });
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

/** Returns the exit code, or null after the timeout. The instance is destroyed in either case. */
async function codeOf(rented: Run): Promise<number | null> {
  try {
    await rented.open();
    return await rented.toTheEnd(process.cwd());
  } catch (error) {
    await rented.destroy();
    if (error instanceof TimedOut) return null;
    throw error;
  } finally {
    await rented.close();
  }
}
