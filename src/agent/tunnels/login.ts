import type { ExecTarget } from '../../agent-protocol/tunnel-protocol.js';

/**
 * Runs a command as sshd would: in the user's home, with the user's shell from /etc/passwd. The image's own environment
 * is kept, because most images need it and a login shell's profile would replace it.
 */
const SCRIPT = `
uid=$(id -u 2>/dev/null || echo 0)
if [ -r /etc/passwd ]; then
  while IFS=: read -r user _ id _ _ home shell; do
    [ "$id" = "$uid" ] && break
    user= home= shell=
  done < /etc/passwd
fi
[ -n "$home" ] && export HOME="$home"
export USER="\${user:-root}" LOGNAME="\${user:-root}"
[ -x "$shell" ] || shell=/bin/bash
[ -x "$shell" ] || shell=/bin/sh
export SHELL="$shell"
cd "\${HOME:-/}" 2>/dev/null || cd /
if [ $# -gt 0 ]; then exec "$shell" -c "$1"; fi
exec "$shell"`;

/** Name of the script, which distinguishes renters' commands from an operator's. */
const NAME = 'gpu-session';

/**
 * Returns the arguments that run the command in a shell, or that run the shell itself if the command is null.
 * Regardless of the engine, a terminal's size is set before the command begins.
 */
export function inShell(command: string | null, terminal: ExecTarget['terminal']): string[] {
  return ['/bin/sh', '-c', sizeOf(terminal) + SCRIPT, NAME, ...(command === null ? [] : [command])];
}

/**
 * Returns commands that set the terminal's size. Docker before version 23 creates terminals without a size, and
 * busybox's stty only prints an error for these. If the terminal already has a size, it is kept, because it may be
 * newer.
 */
function sizeOf(terminal: ExecTarget['terminal']): string {
  if (terminal === null) return '';
  return `case "$(stty size 2>/dev/null)" in ''|'0 0') stty rows ${terminal.rows} cols ${terminal.columns} 2>/dev/null ;; esac`;
}

/** Whether an agent, possibly an older version, started the command with `inShell`. */
export function isInShell(argv: readonly string[]): boolean {
  return argv[0] === '/bin/sh' && argv[3] === NAME;
}
