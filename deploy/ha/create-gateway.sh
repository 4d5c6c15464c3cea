#!/bin/sh
# Creates the gateways' role and database. Patroni runs it once, when the cluster is created, with the primary's
# connection string as its argument.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --set password="$GATEWAY_PASSWORD" "$1" <<'SQL'
create role gateway login password :'password';
create database gateway owner gateway;
SQL
