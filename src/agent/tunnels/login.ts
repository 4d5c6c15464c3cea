import type { ExecTarget } from '../tunnel-protocol.js';

/**
 * As sshd would run a command: by the user's shell of /etc/passwd, in the user's home. The image's own environment
 * stays as it is, which a login shell's profile would replace: it is what makes most images work.
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

/** The script's name, by which commands of renters are distinguished from those of an operator. */
const NAME = 'gpu-session';

/** Null: the shell itself. A terminal has its size before the command begins, whatever engine runs it. */
export function inShell(command: string | null, terminal: ExecTarget['terminal']): string[] {
  return ['/bin/sh', '-c', sizeOf(terminal) + SCRIPT, NAME, ...(command === null ? [] : [command])];
}

/**
 * Docker before 23 makes terminals without a size, of which busybox says nothing but an error. One that has a size keeps it:
 * it may be a newer one.
 */
function sizeOf(terminal: ExecTarget['terminal']): string {
  if (terminal === null) return '';
  return `case "$(stty size 2>/dev/null)" in ''|'0 0') stty rows ${terminal.rows} cols ${terminal.columns} 2>/dev/null ;; esac`;
}

/** Whether an agent, perhaps an older one, began it with `inShell`. */
export function isInShell(argv: readonly string[]): boolean {
  return argv[0] === '/bin/sh' && argv[3] === NAME;
}
