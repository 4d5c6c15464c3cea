/* Scripts that run in the container of a run. Only POSIX shell and commands that busybox has, because images have
   nothing else in common. The keeper is the container's command. It waits for the files of the run, then runs the
   command, and keeps output and exit code in files: nothing of it depends on a connection. Clients connect over SSH. */

import { checkOut } from './paths.js';

/** The terms of a run, kept in its launch, where `gpu attach` finds them on any computer. */
export interface RunTerms {
  /** Paths in the workspace to fetch. */
  out: string[];
  /** Whether to keep the instance at the end. */
  keep: boolean;
}

/** Identifies a launch as a run. */
export const NAME = 'gpu-run';
/** Exit code of the keeper if no client came to start the run. */
const NOBODY_CAME = 125;
/** Exit code of a command aborted because its instance stopped, as after SIGTERM. */
const CUT_OFF = 143;

/** $W is the folder for the files and the command, $D is the run's own folder. */
const PLACES = `
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.${NAME}
nap() { sleep 0.2 2>/dev/null || sleep 1; }
`;

/** $1: seconds that it waits without a client; 0 for ever. $2: the terms. The rest is the command. */
export const KEEPER = `${PLACES}
patience=$1; shift 2
wait_for() {
  quiet=0
  until [ -e "$D/$1" ]; do
    if [ -e "$D/alive" ]; then rm -f "$D/alive"; quiet=0; fi
    [ "$patience" -gt 0 ] && [ "$quiet" -ge $((patience * 5)) ] && return 1
    quiet=$((quiet + 1))
    nap
  done
}
trap 'exit ${CUT_OFF}' TERM
mkdir -p "$D" || exit 1
rm -f "$D/end"
if [ ! -e "$D/started" ]; then
  wait_for go || exit ${NOBODY_CAME}
  : >"$D/started"
  cd "$W"
  "$@" </dev/null >"$D/out" 2>"$D/err" &
  pid=$!
  trap 'kill -TERM "$pid"' TERM
  wait "$pid"; code=$?
  while kill -0 "$pid" 2>/dev/null; do wait "$pid"; code=$?; done
  trap 'exit "$code"' TERM
  { echo "$code" >"$D/code.new" && mv "$D/code.new" "$D/code"; } || exit "$code"
elif [ ! -e "$D/code" ]; then
  echo ${CUT_OFF} >"$D/code"
fi
read code <"$D/code"
trap 'exit "$code"' TERM
wait_for end
exit "$code"
`;

/**
 * Prints `ready`, whether there is rsync, whether the command has begun, and the workspace; then `code` and the exit
 * code once the command has ended. While it runs, the keeper knows that a client is connected. It ends with its input:
 * a client that crashes leaves nothing behind.
 */
const WATCH = `${PLACES}
mkdir -p "$D" || exit 1
rsync=no
command -v rsync >/dev/null 2>&1 && rsync=yes
begun=no
[ -e "$D/started" ] && begun=yes
echo "ready $rsync $begun $W"
{
  until [ -e "$D/code" ]; do : >"$D/alive"; nap; done
  read code <"$D/code"
  echo "code $code"
  while :; do : >"$D/alive"; sleep 1; done
} &
cat >/dev/null
kill $!
`;

/** Marks the files as complete: the command may begin. */
const BEGIN = `${PLACES}
: >"$D/go"
`;

/**
 * $1: out or err; $2: bytes to skip. Lets the command begin, prints the file as it grows, and ends when the command has
 * ended.
 */
const FOLLOW = `${PLACES}
: >"$D/go"
until [ -e "$D/$1" ]; do [ -e "$D/code" ] && exit 0; nap; done
exec 3<"$D/$1"
whole=$(($2 / 65536)); rest=$(($2 % 65536))
[ "$whole" -eq 0 ] || dd bs=65536 count="$whole" <&3 >/dev/null 2>&1
[ "$rest" -eq 0 ] || dd bs=1 count="$rest" <&3 >/dev/null 2>&1
until [ -e "$D/code" ]; do cat <&3; nap; done
cat <&3
`;

/** $1: a folder, in the workspace unless its path is absolute. Its files arrive as a tar on the input. */
const RECEIVE = `${PLACES}
cd "$W" && mkdir -p "$1" && cd "$1" && tar -xof -
`;

/** $1: a path in the workspace, printed as a tar; for a link, its target. Exits with 44 if there is nothing. */
const SEND = `${PLACES}
cd "$W" && { [ -e "$1" ] || exit 44; }
if [ ! -L "$1" ]; then tar -cf - "$1"
elif [ -d "$1" ]; then tar -cf - "$1/."
else tar -chf - "$1"; fi
`;
export const NOTHING_THERE = 44;

/** Marks everything as fetched: the keeper may exit, with the command's code. */
const END = `${PLACES}
: >"$D/end"
`;

export const SCRIPTS = { watch: WATCH, begin: BEGIN, follow: FOLLOW, receive: RECEIVE, send: SEND, end: END } as const;

/** Returns the entrypoint of a run's launch; the launch's command follows it. */
export function entrypointOf(terms: RunTerms, patienceSeconds: number): string[] {
  return ['/bin/sh', '-c', KEEPER, NAME, String(patienceSeconds), JSON.stringify(terms)];
}

/**
 * Reads the terms; null for a launch that is not a run. Refuses with RunFailed paths that lead out of the folder here,
 * because the author of the launch is unknown.
 */
export function termsOf(entrypoint: readonly string[] | null | undefined): RunTerms | null {
  if (entrypoint?.[3] !== NAME) return null;
  const terms = parse(entrypoint[5] ?? '');
  if (terms === null) return null;
  const paths = Array.isArray(terms.out) ? terms.out.filter((path) => typeof path === 'string') : [];
  return { out: checkOut(paths), keep: terms.keep === true };
}

function parse(text: string): Partial<RunTerms> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns a command line for the shell of any image. */
export function remote(script: keyof typeof SCRIPTS, ...args: readonly string[]): string {
  return ['exec /bin/sh -c', ...[SCRIPTS[script], NAME, ...args].map(quoted)].join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
