#!/bin/sh
# Backs up and restores one node with pgBackRest. Run it as the user postgres, with the node's PATRONI_*,
# PATRONICTL_CONFIG_FILE and PGBACKREST_* variables. README.md leads through a restore.
#   backup.sh backup     backs up this node if it is the primary: completely on Sundays, otherwise incrementally
#   backup.sh restore '2026-11-27 10:15:00+00' [OPTION…]
#                        restores the cluster on this node. Patroni must be stopped on all nodes. The options are those
#                        of `pgbackrest restore`
#   backup.sh replica    copies a standby from the repository instead of the primary, for Patroni
set -eu
: "${PGBACKREST_STANZA:?is not set, so there are no backups}" "${PGBACKREST_PG1_PATH:?is not set}"
bin=${PATRONI_POSTGRESQL_BIN_DIR:-/usr/lib/postgresql/15/bin}
socket=${PGBACKREST_PG1_SOCKET_PATH:-/var/run/postgresql}
port=${PGBACKREST_PG1_PORT:-5432}
scope=${PATRONI_SCOPE:-gpu-rental}

fail() { echo "backup.sh: $*" >&2; exit 1; }
sql() { psql --no-psqlrc -At -h "$socket" -p "$port" -U postgres -d postgres -c "$1"; }

case ${1:-} in
backup)
  is_standby=$(sql 'select pg_is_in_recovery()')
  [ "$is_standby" = f ] || { echo 'not the primary: nothing to do'; exit 0; }
  type=incr
  [ "$(date -u +%u)" != 7 ] || type=full
  pgbackrest stanza-create
  # Fails unless a finished log file reaches the repository, so a broken archive is noticed.
  pgbackrest --type="$type" --start-fast backup
  ;;
restore)
  time=${2:-}
  case $time in
  ????-??-??\ ??:??:??*[+-][0-9][0-9]) shift 2 ;;
  *) fail "the time must have a zone, such as '2026-11-27 10:15:00+00'; got '$time'" ;;
  esac
  # patronictl fails if etcd is down.
  members=$(patronictl list -f json)
  case $members in
  *'"State": "running"'* | *'"State": "streaming"'* | *'"State": "starting"'*)
    fail 'stop Patroni on all nodes first' ;;
  esac
  # Refuses if PostgreSQL is still running here.
  pgbackrest --delta --type=time --target="$time" --target-action=promote "$@" restore
  # Recovers without Patroni, which would overwrite the recovery target, and without listening to gateways.
  log=$(mktemp)
  postgres() { "$bin/pg_ctl" -D "$PGBACKREST_PG1_PATH" -t 86400 "$@" >/dev/null; }
  settings="-c listen_addresses='' -c unix_socket_directories='$socket' -c port=$port -c logging_collector=off"
  postgres -l "$log" -o "$settings -c synchronous_standby_names=''" start || { tail -5 "$log" >&2; exit 1; }
  until [ "$(sql 'select pg_is_in_recovery()' 2>/dev/null)" = f ]; do
    postgres status || { tail -5 "$log" >&2; exit 1; }
    sleep 1
  done
  for setting in restore_command recovery_target_time recovery_target_action recovery_target_timeline; do
    sql "alter system reset $setting" >/dev/null
  done
  postgres -m fast stop
  grep -E 'recovery stopping|last completed transaction' "$log"
  # Forgets the old cluster's leader, so that the first node that starts now becomes the primary.
  # After a second restore, there is no cluster to forget, which patronictl reports with a stack trace.
  printf '%s\nYes I am aware\n' "$scope" | patronictl remove "$scope" >/dev/null 2>&1 ||
    fail "could not remove the old cluster from etcd; run: patronictl remove $scope"
  echo 'restored; start Patroni on this node, and then on the others after moving their data folders away'
  ;;
replica)
  exec pgbackrest --delta --type=standby restore
  ;;
*)
  fail 'usage: backup.sh backup | restore TIME [OPTION…] | replica'
  ;;
esac
