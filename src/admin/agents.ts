import type { Command } from 'commander';
import { enrol, forgetContainers, revokeHost } from '../domain/fleet/enrolment.js';
import { readSizes } from '../domain/inventory/rules/host-gpus.js';
import { formatInstant } from '../domain/kernel/time.js';
import { type Output, printJson } from './output.js';
import type { Run } from './run.js';

interface EnrolOptions extends Output {
  gpu?: string;
  count?: string;
  region?: string;
  online?: boolean;
  demo?: boolean;
  slices?: string;
}

/** Adds the commands for host agents. */
export function addAgentCommands(machine: Command, run: Run): void {
  machine
    .command('enroll [id]')
    .description('Print a single-use join code, valid for one hour; without an id, the agent joins as a new machine')
    .option('--gpu <slug>', "GPU model that the host must have; required for models the catalogue can't identify")
    .option('--count <number>', 'Number of GPUs that the host must have, 1 to 8')
    .option('--region <code>', 'Region for a new machine; optional if there is only one region')
    .option(
      '--slices <sizes>',
      'Block sizes to sell: all, whole, or sizes such as 1,2 (default: unchanged, or all for a new machine)',
    )
    .option('--online', 'Offer the machine as soon as it joins; otherwise, run `machine online` later')
    .option('--demo', 'Accept simulated GPUs')
    .option('--json', 'Print JSON')
    .action((id: string | undefined, { json, gpu, count, region, online, demo, slices }: EnrolOptions) =>
      run(async (deps) => {
        const { machineId, code, expiresAt } = await enrol(deps, {
          machineId: id ?? null,
          gpu: gpu ?? null,
          numGpus: count === undefined ? null : Number(count),
          region: region ?? null,
          online: online ?? false,
          demo: demo ?? false,
          slices: slices === undefined ? null : readSizes(slices),
        });
        const until = formatInstant(expiresAt);
        if (json) printJson({ machine_id: machineId, code, expires_at: until });
        else
          process.stdout.write(`${code}\nOne agent can join with this code as machine ${machineId} until ${until}\n`);
      }),
    );
  machine
    .command('revoke <id>')
    .description("Revoke the token of the machine's agent; use `enroll` to let an agent join again")
    .action((id: string) =>
      run(async (deps) => {
        await revokeHost(deps, id);
        process.stdout.write(`revoked machine ${id}'s token\n`);
      }),
    );
  machine
    .command('forget <id>')
    .description("Declare an unreachable machine's containers gone, so that new ones can start")
    .action((id: string) =>
      run(async (deps) => {
        const containers = await forgetContainers(deps, id);
        process.stdout.write(`forgot ${containers} containers on machine ${id}\n`);
      }),
    );
}
