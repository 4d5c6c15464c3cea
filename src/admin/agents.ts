import type { Command } from 'commander';
import { enrol, forgetContainers, revokeHost } from '../domain/fleet/enrolment.js';
import { readSizes } from '../domain/rules/host-gpus.js';
import { formatInstant } from '../domain/rules/time.js';
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

/** Commands about the agents of machines. */
export function addAgentCommands(machine: Command, run: Run): void {
  machine
    .command('enroll [id]')
    .description(
      'print a code that lets the agent of a machine join, once and within the hour; a new machine without id',
    )
    .option('--gpu <slug>', 'the model that its GPUs must be; names those that the catalogue can not tell')
    .option('--count <number>', 'how many GPUs it must have, 1 to 8')
    .option('--region <code>', 'where it stands; not needed for a known machine or where there is one region')
    .option(
      '--slices <sizes>',
      'how its GPUs are sold: all, whole, or sizes such as 1,2; as before, or all, without it',
    )
    .option('--online', 'offer it as soon as it joins; else `machine online` does')
    .option('--demo', 'accept simulated GPUs')
    .option('--json', 'print JSON')
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
        else process.stdout.write(`${code}\nlets the agent of machine ${machineId} join, once, until ${until}\n`);
      }),
    );
  machine
    .command('revoke <id>')
    .description('refuse the token of its agent from now on; `enroll` lets one join again')
    .action((id: string) =>
      run(async (deps) => {
        await revokeHost(deps, id);
        process.stdout.write(`the agent of machine ${id} is refused\n`);
      }),
    );
  machine
    .command('forget <id>')
    .description('say that nothing is left of what ran on a machine that is away, so that something new may start')
    .action((id: string) =>
      run(async (deps) => {
        const containers = await forgetContainers(deps, id);
        process.stdout.write(`${containers} containers of machine ${id} are forgotten\n`);
      }),
    );
}
