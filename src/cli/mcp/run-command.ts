import { spawn } from 'node:child_process';
import { z } from 'zod';
import { KEY_REFUSED, SSH_FAILED, sshArguments } from '../ssh.js';
import { Output, outputOf } from './output.js';
import { type Answer, ID, Refused, type Service, type Tool, tool } from './tool.js';

/** Default time limit. MCP clients usually wait 60 s for a response. */
const DEFAULT_SECONDS = 50;
const MAX_SECONDS = 600;
const MAX_COMMAND_CHARACTERS = 32_000;
/**
 * ssh options that prevent a container from reaching back to the user's machine, regardless of the user's own ssh
 * settings.
 */
const ISOLATED = ['-T', '-oBatchMode=yes', '-oForwardAgent=no', '-oForwardX11=no', '-oClearAllForwardings=yes'];

export const runCommand: Tool = tool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Runs a shell command in a running instance by SSH, and returns its exit code and the end of its output. At the timeout, the connection is closed and the command ends. Start long work in the background (nohup … &) and read its output later.',
  input: {
    id: ID,
    command: z.string().min(1).max(MAX_COMMAND_CHARACTERS).describe('Command line for the shell in the container.'),
    user: z
      .string()
      .max(32)
      .optional()
      .describe("User that runs it: root, or a name or number in the container; the container's user by default."),
    timeoutSeconds: z.number().int().min(1).max(MAX_SECONDS).default(DEFAULT_SECONDS).describe('Timeout in seconds.'),
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  isLong: true,
  run,
});

async function run(
  { settings, identity }: Service,
  {
    id,
    command,
    user,
    timeoutSeconds,
  }: { id: string; command: string; user?: string | undefined; timeoutSeconds: number },
  signal: AbortSignal,
): Promise<Answer> {
  const { args } = await sshArguments(settings, id, { identity, user });
  const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
  const ended = await ssh([...ISOLATED, ...args, command], AbortSignal.any([signal, timeout]));
  const { code, stdout, stderr } = ended;
  if (code === SSH_FAILED && !timeout.aborted) {
    const hint = KEY_REFUSED.test(stderr.text)
      ? '; start `gpu mcp` with --identity FILE, or load the key into an agent'
      : '';
    throw new Refused('ssh_failed', `ssh: ${stderr.text.trim()}${hint}`);
  }
  return {
    summary: timeout.aborted
      ? `ended after ${timeoutSeconds} s without an exit code`
      : code === null
        ? 'ended by a signal'
        : `exit code ${code}`,
    exitCode: timeout.aborted ? null : code,
    ...outputOf(stdout, stderr),
  };
}

function ssh(args: readonly string[], signal: AbortSignal) {
  const [stdout, stderr] = [new Output(), new Output()];
  return new Promise<{ code: number | null; stdout: Output; stderr: Output }>((resolve, reject) => {
    const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') reject(new Refused('no_ssh', 'the OpenSSH client (ssh) is not installed'));
      else if (error.name !== 'AbortError') reject(error);
    });
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}
