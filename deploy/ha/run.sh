#!/bin/sh
# Runs a command as the user postgres, with the node's variables from /etc/patroni_env.conf. Start it as root:
#   run.sh patronictl list
# The passwords don't appear in the list of processes, unlike with `env $(cat …)`.
set -eu
[ $# -gt 0 ] || { echo 'run.sh: usage: run.sh COMMAND [ARGUMENT…]' >&2; exit 1; }
file=/etc/patroni_env.conf
[ -r "$file" ] || { echo "run.sh: can't read $file; run this as root" >&2; exit 1; }
while IFS= read -r line; do
  case $line in
  [A-Z]*=*) export "${line?}" ;;
  esac
done < "$file"
cd /var/lib/postgresql
exec runuser -u postgres -- "$@"
