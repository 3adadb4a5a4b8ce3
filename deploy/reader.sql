-- Somebody who reads in SQL and nothing else, for Grafana (docs/sql.md); psql runs it at every start.
\set ON_ERROR_STOP on
\set password `cat "${SECRETS_FOLDER:-/run/secrets}/ratchet-reader-password"`
select not exists (select from pg_roles where rolname = 'grafana') as is_new \gset
\if :is_new
create role grafana login in role ratchet_reader;
\endif
alter role grafana password :'password';
alter role grafana set search_path = ratchet_views;
alter role grafana set statement_timeout = '30s';
alter role grafana set default_transaction_read_only = on;
