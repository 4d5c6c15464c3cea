#!/bin/sh
# Creates the gateways' role and database. Patroni runs it once, when the cluster is created, with the primary's
# connection string as its argument.
set -eu
: "${GATEWAY_PASSWORD:?is not set}"
psql --no-psqlrc --set ON_ERROR_STOP=1 "$1" <<'SQL'
\getenv password GATEWAY_PASSWORD
create role gateway login password :'password';
create database gateway owner gateway;
SQL
