"""What runs in the container of a run. Made by scripts/run-scripts.mjs from src/run/scripts.ts: change that."""

NAME = "gpu-run"
#: What ``send`` ends with when there is no such path.
NOTHING_THERE = 44
KEEPER = r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

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
trap 'exit 143' TERM
mkdir -p "$D" || exit 1
rm -f "$D/end"
if [ ! -e "$D/started" ]; then
  wait_for go || exit 125
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
  echo 143 >"$D/code"
fi
read code <"$D/code"
trap 'exit "$code"' TERM
wait_for end
exit "$code"
'''
SCRIPTS = {
    "watch": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

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
''',
    "begin": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

: >"$D/go"
''',
    "follow": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

: >"$D/go"
until [ -e "$D/$1" ]; do [ -e "$D/code" ] && exit 0; nap; done
exec 3<"$D/$1"
whole=$(($2 / 65536)); rest=$(($2 % 65536))
[ "$whole" -eq 0 ] || dd bs=65536 count="$whole" <&3 >/dev/null 2>&1
[ "$rest" -eq 0 ] || dd bs=1 count="$rest" <&3 >/dev/null 2>&1
until [ -e "$D/code" ]; do cat <&3; nap; done
cat <&3
''',
    "receive": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

cd "$W" && mkdir -p "$1" && cd "$1" && tar -xof -
''',
    "send": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

cd "$W" && { [ -e "$1" ] || exit 44; }
if [ ! -L "$1" ]; then tar -cf - "$1"
elif [ -d "$1" ]; then tar -cf - "$1/."
else tar -chf - "$1"; fi
''',
    "end": r'''
W=/workspace
mkdir -p "$W" 2>/dev/null
[ -w "$W" ] || W=/tmp
D=$W/.gpu-run
nap() { sleep 0.2 2>/dev/null || sleep 1; }

: >"$D/end"
''',
}
