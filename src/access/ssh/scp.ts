/** Matches a command of the old SCP protocol, as sent by `scp -O` and older clients. */
const IS_SCP = /^scp\s(?:-\w+\s+)*-\w*[tf]/;

/**
 * Implements both sides of the SCP protocol as a function for any POSIX shell, using only basic commands that busybox
 * has too. `dd` is used because, unlike `head`, it reads no more input than it writes.
 */
const FUNCTION = String.raw`
gpu_say() { printf '\001scp: %s\n' "$1"; gpu_bad=1; }
gpu_ack() {
  gpu_a=$(dd bs=1 count=1 2>/dev/null | od -An -tx1 | tr -d ' ')
  [ "$gpu_a" = 00 ] && return 0
  [ -n "$gpu_a" ] || exit 1
  IFS= read -r gpu_l; printf '%s\n' "$gpu_l" >&2; gpu_bad=1
  [ "$gpu_a" = 01 ] || exit 1
  return 1
}
gpu_bytes() {
  [ $(($1 / 65536)) -eq 0 ] || dd bs=65536 count=$(($1 / 65536)) iflag=fullblock 2>/dev/null || return 1
  [ $(($1 % 65536)) -eq 0 ] || dd bs=$(($1 % 65536)) count=1 iflag=fullblock 2>/dev/null
}
gpu_times() {
  [ -z "$2" ] || touch -c -m -d "@$2" -- "$1" 2>/dev/null
  [ -z "$3" ] || touch -c -a -d "@$3" -- "$1" 2>/dev/null
}
gpu_sink() (
  to=$1; m= a=
  if [ "$gpu_d" = 1 ] && [ ! -d "$to" ]; then gpu_say "$to: Not a directory"; exit 1; fi
  printf '\0'
  while IFS= read -r line; do
    case $line in
      T*) set -f; set -- ${'${'}line#T}; m=$1 a=$3; set +f
        case $m$a in ''|*[!0-9]*) gpu_say 'times are not numbers'; exit 1 ;; esac
        printf '\0'; continue ;;
      E) printf '\0'; exit $gpu_bad ;;
      C[0-7][0-7][0-7][0-7]\ *|D[0-7][0-7][0-7][0-7]\ *) ;;
      "$gpu_one"*|"$gpu_two"*) printf '%s\n' "$line" >&2; gpu_bad=1; continue ;;
      *) gpu_say 'expected control record'; exit 1 ;;
    esac
    kind=${'${'}line%"${'${'}line#?}"} rest=${'${'}line#?}
    mode=${'${'}rest%% *} rest=${'${'}rest#* }
    size=${'${'}rest%% *} name=${'${'}rest#* }
    case $size in ''|*[!0-9]*|???????????????????*) gpu_say 'size is not a number'; exit 1 ;; esac
    case $name in ''|.|..|*/*) gpu_say "$name: unexpected filename"; exit 1 ;; esac
    # Without a name of its own it gets the target's.
    if [ -d "$to" ]; then path=$to/$name; else path=$to; fi
    # A mask keeps what it may; -p sets all.
    if [ "$gpu_p" = 1 ]; then perms=$mode; else perms=$(printf '%o' $((0$mode & 0777 & ~0$(umask)))); fi
    if [ "$kind" = D ]; then
      [ "$gpu_r" = 1 ] || { gpu_say 'received directory without -r'; exit 1; }
      was=0; [ -d "$path" ] || was=1
      if [ $was = 1 ] && ! mkdir -m 700 -- "$path" 2>/dev/null; then gpu_say "$path: cannot create"; continue; fi
      gpu_sink "$path" || gpu_bad=1
      if [ $was = 1 ] || [ "$gpu_p" = 1 ]; then chmod $perms -- "$path" 2>/dev/null; fi
      gpu_times "$path" "$m" "$a"; m= a=
      continue
    fi
    was=0; [ -e "$path" ] || was=1
    wrong=
    if [ -d "$path" ]; then wrong='Is a directory'; elif ! { true >> "$path"; } 2>/dev/null; then wrong='cannot write'; fi
    printf '\0'
    if [ -n "$wrong" ]; then gpu_bytes "$size" >/dev/null
    else gpu_bytes "$size" > "$path" || { wrong='write failed'; }
      [ "$(stat -L -c %s -- "$path")" = "$size" ] || { [ -f "$path" ] && wrong=${'${'}wrong:-incomplete}; }
      if [ $was = 1 ] || [ "$gpu_p" = 1 ]; then chmod $perms -- "$path" 2>/dev/null; fi
      gpu_times "$path" "$m" "$a"
    fi
    m= a=
    gpu_ack || continue
    if [ -n "$wrong" ]; then gpu_say "$path: $wrong"; else printf '\0'; fi
  done
  exit $gpu_bad
)
gpu_source() {
  gpu_n=${'${'}1%/}; gpu_n=${'${'}gpu_n##*/}
  [ -n "$gpu_n" ] || gpu_n=.
  case $gpu_n in *"$gpu_nl"*) gpu_say "$1: line break in a name"; return ;; esac
  if [ ! -e "$1" ]; then gpu_say "$1: No such file or directory"; return; fi
  if [ ! -r "$1" ]; then gpu_say "$1: Permission denied"; return; fi
  if [ -d "$1" ] && [ "$gpu_r" != 1 ] || { [ ! -d "$1" ] && [ ! -f "$1" ]; }; then gpu_say "$1: not a regular file"; return; fi
  if [ "$gpu_p" = 1 ]; then printf 'T%s 0 %s 0\n' "$(stat -L -c %Y -- "$1")" "$(stat -L -c %X -- "$1")"; gpu_ack || return; fi
  gpu_m=$(stat -L -c %a -- "$1")
  if [ -d "$1" ]; then
    printf 'D%04d 0 %s\n' "$gpu_m" "$gpu_n"; gpu_ack || return
    for gpu_e in "${'${'}1%/}"/* "${'${'}1%/}"/.[!.]* "${'${'}1%/}"/..?*; do
      if [ -e "$gpu_e" ] || [ -L "$gpu_e" ]; then gpu_source "$gpu_e"; fi
    done
    printf 'E\n'; gpu_ack; return
  fi
  gpu_s=$(stat -L -c %s -- "$1")
  printf 'C%04d %s %s\n' "$gpu_m" "$gpu_s" "$gpu_n"; gpu_ack || return
  head -c "$gpu_s" < "$1"
  printf '\0'; gpu_ack
}
scp() {
  [ -z "${'${'}ZSH_VERSION:-}" ] || emulate sh
  gpu_t= gpu_f= gpu_r= gpu_p= gpu_d= gpu_bad=0 gpu_nl='
'
  gpu_one=$(printf '\001') gpu_two=$(printf '\002')
  while getopts tfrpdvq gpu_o; do
    case $gpu_o in t|f|r|p|d) eval "gpu_$gpu_o=1" ;; v|q) ;; *) return 1 ;; esac
  done
  shift $((OPTIND - 1))
  gpu_mode=$gpu_t
  for gpu_c in dd od stat head touch; do
    command -v $gpu_c >/dev/null || { printf '\002scp: the image has neither scp nor %s\n' "$gpu_c"; return 1; }
  done
  if [ "$gpu_mode" = 1 ]; then gpu_sink "$1"; return; fi
  gpu_ack || return
  for gpu_x in "$@"; do gpu_source "$gpu_x"; done
  return $gpu_bad
}`;

/** Returns a command line that also works in an image without `scp`, or null for any other command. */
export function withScp(command: string): string | null {
  return IS_SCP.test(command) ? `if ! command -v scp >/dev/null 2>&1; then${FUNCTION}\nfi\n${command}` : null;
}
