#!/bin/bash
# What the published image does with POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB, no more.
set -euo pipefail
if [ "$(id -u)" = 0 ]; then
  install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?superuser password is not specified}"
  user=${POSTGRES_USER:-postgres}
  initdb --pgdata="$PGDATA" --username="$user" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 --encoding=UTF8
  printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
  # Also for a moment longer, so that a health check that asks the socket is caught.
  pg_ctl --pgdata="$PGDATA" --wait --options="-c listen_addresses='' -c unix_socket_directories=/var/run/postgresql" start
  database=${POSTGRES_DB:-$user}
  [ "$database" = postgres ] || psql -h /var/run/postgresql -U "$user" -d postgres -v ON_ERROR_STOP=1 -c "create database \"$database\""
  sleep 3
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
