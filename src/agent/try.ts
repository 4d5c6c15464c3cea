import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { visible } from '../visible.js';
import { describeBlocks } from './blocks.js';
import type { Engine } from './engine/engine.js';
import { Gateway, GatewayFault } from './gateway.js';
import type { SimulatedGpus } from './hardware.js';
import { gatewayUrl, join } from './join.js';
import { type JoinedMachine, MachineFile } from './machine-file.js';
import { run } from './run.js';
import { type AgentSettings, UsageError } from './settings.js';
import { chooseImage, type OfferedImage } from './try-image.js';

const ENROLS_WITHIN_MS = 60_000;
/** The operator commands, where the agent is part of the gateway's package. */
const ADMIN = fileURLToPath(new URL('../admin/main.js', import.meta.url));
const ENROLL = [ADMIN, 'machine', 'enroll', '--demo', '--online', '--json'];
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
  const machine = (await stillJoined(dir, gateway, pretended)) ?? (await joinAnew(dir, engine, gateway, pretended));
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
    await new Gateway(gateway, machine.token).desired(0, 0, AbortSignal.timeout(ENROLS_WITHIN_MS));
    return machine;
  } catch (error) {
    // Another database than the last time: its machines are others.
    if (error instanceof GatewayFault && error.kind === 'revoked') return null;
    throw error;
  }
}

async function joinAnew(settings: AgentSettings, engine: Engine, url: string, pretended: SimulatedGpus) {
  const { code } = await enroll();
  rmSync(new MachineFile(settings.dataDir).path, { force: true });
  return (await join(settings, engine, { url, code, pretended })).machine;
}

/** Works on the database that DATA_DIR or DATABASE_URL name, as `npm start` does. */
async function enroll(): Promise<z.infer<typeof enrolled>> {
  if (!existsSync(ADMIN)) throw new UsageError("`try` needs the gateway's package: run npx gpu-agent try there");
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ENROLL, { timeout: ENROLS_WITHIN_MS });
    return enrolled.parse(JSON.parse(stdout));
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new UsageError(`this computer can't be enrolled: ${stderr?.trim().split('\n').at(-1) || message}`);
  }
}

/** The console's form for renting the machine with the image. */
export function deployLink(gateway: string, machineId: string, image: string): string {
  const asked = new URLSearchParams({ machine: machineId, template: image, 'deploy-disk': '5' });
  return `${gateway}/deploy?${asked}`;
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
    `Or in the console, with this image filled in: ${deployLink(gateway, machineId, name)}`,
    ...(models.length > 1 ? [`It can be rented in blocks of its GPUs: ${describeBlocks(models)}.`] : []),
    ...(because === null ? [] : [because]),
    `${isHere ? 'runs an image of this host' : 'pulls a small image, runs it'} and opens a shell in it. Ctrl-C ends the agent and leaves containers as they are.`,
    '',
    '',
  ].join('\n');
}
