import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';

const MAX_OUTPUT_BYTES = 64 * 1_048_576;

/** Docker's own command line and Compose on one engine. */
export class Docker {
  readonly env: NodeJS.ProcessEnv;

  constructor(socket: string) {
    // On Debian, Docker's newer command line comes without the newer builder.
    this.env = { ...process.env, DOCKER_HOST: `unix://${socket}`, DOCKER_BUILDKIT: '0', COMPOSE_DOCKER_CLI_BUILD: '0' };
  }

  /** Runs a command and returns its output. Throws the error output if it fails. */
  run(...args: string[]): string {
    return this.#run('docker', args);
  }

  /** Runs Compose in the folder of a compose.yaml. */
  compose(folder: string, ...args: string[]): string {
    return this.#run('docker-compose', args, folder);
  }

  async composeLater(folder: string, ...args: string[]): Promise<string> {
    const options = { env: this.env, cwd: folder, maxBuffer: MAX_OUTPUT_BYTES };
    const { stdout } = await promisify(execFile)('docker-compose', args, options);
    return stdout;
  }

  /** Runs `inspect` with a Go template. */
  look(container: string, template: string): string {
    return this.run('inspect', '--format', template, container).trim();
  }

  #run(program: string, args: string[], cwd?: string): string {
    const options = {
      env: this.env,
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(cwd !== undefined && { cwd }),
    } as const;
    return execFileSync(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
