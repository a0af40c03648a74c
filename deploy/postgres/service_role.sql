-- What the role that subakd runs as may do with tables that another role owns: write facts, ledger and audit, never
-- change or delete them. Run it as that owner, in Subak's database, once the tables are there and after each upgrade that
-- brought a migration (docs/postgres.md, "The database"); it may be run again.
--
--   CREATE ROLE subak_owner LOGIN; CREATE ROLE subak_service LOGIN;    -- by an administrator, once
--   CREATE DATABASE subak OWNER subak_owner;
--   subakd --state postgres://subak_owner@HOST/subak                   -- makes the tables; stop it when it is ready
--   psql -d subak -U subak_owner -v service=subak_service -f service_role.sql
--   subakd --state postgres://subak_service@HOST/subak                 -- from now on

\set ON_ERROR_STOP on
\if :{?service}
\else
  \set service subak_service
\endif

BEGIN;
-- Who leads is a row that a commit locks; FOR SHARE takes the right to update.
GRANT SELECT, UPDATE ON lead, beat TO :"service";
GRANT SELECT, INSERT ON facts, ledger, audit TO :"service";
GRANT SELECT, INSERT, UPDATE, DELETE ON meta TO :"service";
GRANT SELECT, INSERT, DELETE ON checkpoint, past_checkpoints TO :"service";
GRANT SELECT, INSERT, UPDATE ON told, activity, notices TO :"service";
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_days, usage_mark TO :"service";
GRANT SELECT ON migrations, ledger_text, audit_text TO :"service";
COMMIT;
