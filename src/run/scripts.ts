/*
 * Scripts that run in a run's container. They use only POSIX shell and commands that busybox has, because images have
 * nothing else in common. The keeper is the container's command. It waits for the run's files, then runs the command,
 * and keeps its output and exit code in files, so that nothing depends on a connection. Clients connect over SSH.
 */

import { checkOut } from './paths.js';

/** A run's terms. They are stored in its launch, so that `gpu attach` can find them from any computer. */
export interface RunTerms {
  /** Paths in the workspace to fetch. */
  out: string[];
  /** Whether to keep the instance at the end. */
  keep: boolean;
}

/** Identifies a launch as a run. */
export const NAME = 'gpu-run';
/** The keeper's exit code if no client has started the run. */
const NO_CLIENT = 125;
/** Exit code of a command that was aborted because its instance stopped, the same as after SIGTERM. */
const ABORTED = 143;

/** Sets $W to the folder for the files and the command, and $D to the run's own folder. */
const PLACES = `
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.${NAME}
nap() { sleep 0.2 2>/dev/null || sleep 1; }
`;

/**
 * $1 is the number of seconds to wait without a client, where 0 means no limit. $2 contains the terms. The remaining
 * arguments are the command.
 */
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
trap 'exit ${ABORTED}' TERM
mkdir -p "$D" || exit 1
rm -f "$D/end"
if [ ! -e "$D/started" ]; then
  wait_for go || exit ${NO_CLIENT}
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
  echo ${ABORTED} >"$D/code"
fi
read code <"$D/code"
trap 'exit "$code"' TERM
wait_for end
exit "$code"
`;

/**
 * Prints `ready`, whether rsync exists, whether the command has begun, and the workspace. Once the command has ended,
 * prints `code` and the exit code. While this script is running, the keeper knows that a client is connected. The
 * script ends when its input does, so a client that crashes leaves nothing behind.
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

/** Marks the files as complete, so that the command can begin. */
const BEGIN = `${PLACES}
: >"$D/go"
`;

/**
 * Starts the command, and prints its output file $1 (`out` or `err`) as it grows, skipping the first $2 bytes. Ends
 * when the command has ended.
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

/**
 * Unpacks a tar archive from standard input into the folder $1, which is in the workspace unless its path is absolute.
 */
const RECEIVE = `${PLACES}
cd "$W" && mkdir -p "$1" && cd "$1" && tar -xof -
`;

/**
 * Prints the workspace path $1 as a tar archive. If the path is a link, follows it. Exits with 44 if it doesn't exist.
 */
const SEND = `${PLACES}
cd "$W" && { [ -e "$1" ] || exit 44; }
if [ ! -L "$1" ]; then tar -cf - "$1"
elif [ -d "$1" ]; then tar -cf - "$1/."
else tar -chf - "$1"; fi
`;
export const NOTHING_THERE = 44;

/** Marks everything as fetched, which allows the keeper to exit with the command's exit code. */
const END = `${PLACES}
: >"$D/end"
`;

export const SCRIPTS = { watch: WATCH, begin: BEGIN, follow: FOLLOW, receive: RECEIVE, send: SEND, end: END } as const;

/** Returns the entrypoint for a run's launch. The launch's command is appended to it. */
export function entrypointOf(terms: RunTerms, patienceSeconds: number): string[] {
  return ['/bin/sh', '-c', KEEPER, NAME, String(patienceSeconds), JSON.stringify(terms)];
}

/**
 * Returns the terms, or null for a launch that isn't a run. Throws RunFailed for paths that escape the local folder,
 * because the launch may come from an unknown author.
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

/** Returns a command line that works in any image's shell. */
export function remote(script: keyof typeof SCRIPTS, ...args: readonly string[]): string {
  return ['exec /bin/sh -c', ...[SCRIPTS[script], NAME, ...args].map(quoted)].join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
