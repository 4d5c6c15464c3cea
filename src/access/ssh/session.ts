import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2';
import { type ExecTarget, SIGNALS, type TunnelSignal } from '../../agent-protocol/tunnel-protocol.js';
import type { Tunnel } from '../tunnels.js';
import type { AgentForwarding } from './agent-forwarding.js';
import { type Connected, withTunnel } from './command.js';
import { joinCommand } from './join.js';
import { withScp } from './scp.js';
import { serveSftp } from './sftp.js';

/** Variables that a client may set, which are the same as with sshd on most systems. */
const VARIABLE = /^(LANG|LC_[A-Z]+|COLORTERM|TZ)$/;
const MAX_VARIABLES = 32;
const MAX_VALUE = 256;
const TERM = /^[A-Za-z0-9._+-]{1,64}$/;
const MAX_SIDE = 1_000;

/**
 * Serves one session on a connection, which consists of an optional terminal and variables, followed by one shell,
 * command or SFTP subsystem.
 */
export function serveSession(session: Session, connected: Connected, agent: AgentForwarding): void {
  const env: Record<string, string> = {};
  let terminal: ExecTarget['terminal'] = null;
  let tunnel: Tunnel | null = null;
  let wantsAgent = false;

  session.on('env', (accept, reject, { key, val }: { key: string; val: string }) => {
    const isAccepted = VARIABLE.test(key) && val.length <= MAX_VALUE && Object.keys(env).length < MAX_VARIABLES;
    if (isAccepted) env[key] = val;
    (isAccepted ? accept : reject)?.();
  });
  session.on('pty', (accept, _reject, info) => {
    terminal = { columns: side(info.cols, 80), rows: side(info.rows, 24) };
    const { term } = info as PseudoTtyInfo & { term?: string };
    env.TERM = term !== undefined && TERM.test(term) ? term : 'xterm';
    accept?.();
  });
  session.on('window-change', (accept, _reject, { cols, rows }) => {
    terminal = { columns: side(cols, 80), rows: side(rows, 24) };
    tunnel?.resize(terminal.columns, terminal.rows);
    accept?.();
  });
  session.on('signal', (accept, _reject, { name }) => {
    const signal = SIGNALS.find((known) => known === name.replace(/^SIG/, ''));
    if (signal !== undefined) tunnel?.signal(signal satisfies TunnelSignal);
    accept?.();
  });

  session.on('auth-agent', (accept) => {
    wantsAgent = true;
    accept?.();
  });

  const run = async (channel: ServerChannel, command: string | null) => {
    if (wantsAgent) {
      try {
        env.SSH_AUTH_SOCK = await agent.path();
      } catch (error) {
        // This is only shown in a terminal, because scripts parse the output of commands.
        if (terminal !== null) channel.write(`no agent forwarding: ${(error as Error).message}\r\n`);
      }
    }
    const target: ExecTarget = { kind: 'exec', command, argv: null, env, terminal };
    await withTunnel(channel, connected, target, async (opened) => {
      tunnel = opened;
      if (terminal !== null && target.terminal !== terminal) opened.resize(terminal.columns, terminal.rows);
      await joinCommand(channel, opened, connected.socket);
    });
  };
  // The library provides no channel for a second request in a session.
  const begin = (channel: ServerChannel | undefined, use: (channel: ServerChannel) => Promise<void>) => {
    if (channel !== undefined) void use(channel);
  };
  session.on('shell', (accept) => begin(accept(), (channel) => run(channel, null)));
  session.on('exec', (accept, _reject, { command }) =>
    begin(accept(), (channel) => run(channel, withScp(command) ?? command)),
  );
  session.on('subsystem', (accept, reject, { name }: { name: string }) => {
    if (name === 'sftp') begin(accept(), (channel) => serveSftp(channel, connected));
    else reject?.();
  });
}

function side(requested: number, fallback: number): number {
  return Number.isInteger(requested) && requested > 0 ? Math.min(requested, MAX_SIDE) : fallback;
}
