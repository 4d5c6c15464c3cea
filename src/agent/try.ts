import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { visible } from '../std/visible.js';
import { describeBlocks } from './blocks.js';
import type { Engine } from './engine/engine.js';
import { Gateway, GatewayFault } from './gateway.js';
import type { SimulatedGpus } from './hardware.js';
import { gatewayUrl, join } from './join.js';
import { type JoinedMachine, MachineFile } from './machine-file.js';
import { withRetries } from './retries.js';
import { run } from './run.js';
import { type AgentSettings, UsageError } from './settings.js';
import { chooseImage, type OfferedImage } from './try-image.js';

const POLL_TIMEOUT_MS = 60_000;
const ADMIN_WITHIN_MS = 60_000;
/** Maximum lines to show from the end of a failed command's output. */
const SHOWN_LINES = 3;
const MAX_SHOWN = 600;
/** Path of the operator program, if the agent is part of the gateway's package. */
const ADMIN = fileURLToPath(new URL('../admin/main.js', import.meta.url));
const enrolled = z.object({ machine_id: z.string(), code: z.string(), expires_at: z.string() });

/** Joins this computer, with simulated GPUs, to a gateway that runs on it. */
export async function tryOut(
  settings: AgentSettings,
  engine: Engine,
  { url, image, pretended }: { url: string; image: string | null; pretended: SimulatedGpus },
): Promise<void> {
  const gateway = gatewayUrl(url);
  const offered = await chooseImage(engine, image);
  const dir = { ...settings, dataDir: joinPath(settings.dataDir, 'try') };
  const machine = (await stillJoined(dir, gateway, pretended)) ?? (await rejoin(dir, engine, gateway, pretended));
  process.stdout.write(howToDeploy(machine, offered));
  await run(dir, offered.isHere ? [offered.name] : []);
}

async function stillJoined(
  settings: AgentSettings,
  gateway: string,
  pretended: SimulatedGpus,
): Promise<JoinedMachine | null> {
  const machine = new MachineFile(settings.dataDir).read();
  if (machine?.gateway !== gateway || JSON.stringify(machine.pretended) !== JSON.stringify(pretended)) return null;
  try {
    const poll = () => new Gateway(gateway, machine.token).desired(0, 0, AbortSignal.timeout(POLL_TIMEOUT_MS));
    await withRetries(poll, isUnreachable);
    return machine;
  } catch (error) {
    // The database is not the one used last time, so it has other machines.
    if (error instanceof GatewayFault && error.kind === 'revoked') return null;
    throw error;
  }
}

/**
 * Joins as a new machine. If the gateway's response was lost, the machine may already exist. In that case, joins as
 * that machine, and retires it if that fails.
 */
async function rejoin(settings: AgentSettings, engine: Engine, url: string, pretended: SimulatedGpus) {
  await withRetries(() => new Gateway(url, null).checkReachable(), isUnreachable);
  let enrolment = await enroll([]);
  const file = new MachineFile(settings.dataDir);
  const before = file.read();
  rmSync(file.path, { force: true });
  // A computer whose GPUs have changed counts as a different machine.
  if (before?.gateway === url) await admin(['machine', 'retire', before.machineId]).catch(() => {});
  try {
    const { machine } = await withRetries(async (tried) => {
      if (tried > 0) enrolment = await enroll([enrolment.machine_id]);
      return join(settings, engine, { url, code: enrolment.code, pretended });
    }, isUnreachable);
    return machine;
  } catch (error) {
    if (isUnreachable(error)) await admin(['machine', 'retire', enrolment.machine_id]).catch(() => {});
    throw error;
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof GatewayFault && error.kind === 'unreachable';
}

/** Returns a join code, for a new machine if `id` is empty. An unused code leaves nothing behind. */
function enroll(id: readonly string[]): Promise<z.infer<typeof enrolled>> {
  return withRetries(
    async () => enrolled.parse(JSON.parse(await admin(['machine', 'enroll', ...id, '--demo', '--online', '--json']))),
    (error) => error instanceof TimedOut,
  );
}

/**
 * Runs an operator command on the database given by DATA_DIR or DATABASE_URL, like `npm start`, and returns its output.
 */
async function admin(args: readonly string[]): Promise<string> {
  if (!existsSync(ADMIN))
    throw new UsageError("`try` requires the gateway's package; run `npx gpu-agent try` in that package's folder");
  try {
    return (await promisify(execFile)(process.execPath, [ADMIN, ...args], { timeout: ADMIN_WITHIN_MS })).stdout;
  } catch (error) {
    const { stderr = '', killed, code, signal } = error as ExecFileException & { stderr?: string };
    const stderrTail = stderr.trim().split('\n').slice(-SHOWN_LINES).join('; ').slice(-MAX_SHOWN);
    const command = `\`admin ${args.slice(0, 2).join(' ')}\``;
    if (killed) {
      const why = stderrTail === '' ? '' : `: ${stderrTail}`;
      throw new TimedOut(`${command} did not finish within ${ADMIN_WITHIN_MS / 1_000} s${why}`);
    }
    const reason = stderrTail === '' ? `${command} exited with ${code ?? signal} without a message` : stderrTail;
    throw new UsageError(`can't enroll this computer: ${reason}`);
  }
}

/** A timeout. The next attempt may be faster if the computer was busy. */
class TimedOut extends UsageError {}

/** Returns a link to the console's form for renting the machine with the image. */
export function deployLink(gateway: string, machineId: string, image: string): string {
  const query = new URLSearchParams({ machine: machineId, template: image, 'deploy-disk': '5' });
  return `${gateway}/deploy?${query}`;
}

function howToDeploy(
  { machineId, gateway, gpu, pretended }: JoinedMachine,
  { name, isHere, because }: OfferedImage,
): string {
  const models = Array.from({ length: pretended?.count ?? 0 }, () => gpu);
  return [
    '',
    `This computer is machine ${machineId} with simulated GPUs (${visible(gpu)}). From another terminal, with your API key in KEY:`,
    `  export GPU_API_KEY=$KEY GPU_BASE_URL=${gateway}`,
    '  npx gpu ssh-key add',
    `  npx gpu deploy ${machineId} --template ${name} --disk-gb 5 --ssh`,
    `Or use the console, with this image filled in: ${deployLink(gateway, machineId, name)}`,
    ...(models.length > 1 ? [`Its GPUs can be rented in blocks: ${describeBlocks(models)}.`] : []),
    ...(because === null ? [] : [because]),
    `This ${isHere ? 'runs an image of this host' : 'pulls and runs a small image'} and opens a shell in it. Ctrl-C stops the agent; containers continue.`,
    '',
    '',
  ].join('\n');
}
