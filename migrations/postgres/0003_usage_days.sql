-- The same as migrations/sqlite/0002_usage_days.sql.
ALTER TABLE ledger ADD COLUMN cluster BYTEA NOT NULL DEFAULT ''::bytea;
ALTER TABLE ledger ADD COLUMN ns BYTEA NOT NULL DEFAULT ''::bytea;
ALTER TABLE ledger ADD COLUMN profile BYTEA NOT NULL DEFAULT ''::bytea;
ALTER TABLE ledger ADD COLUMN booked_ms BIGINT NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW ledger_text AS
  SELECT seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node,
         encode(product, 'escape') AS product, milligpu, corrects,
         encode(cluster, 'escape') AS cluster, encode(ns, 'escape') AS ns,
         encode(profile, 'escape') AS profile, booked_ms
  FROM ledger;

CREATE TABLE usage_days (
  day BIGINT NOT NULL,
  part BIGINT NOT NULL,
  sums BYTEA NOT NULL,
  sum BIGINT NOT NULL,
  PRIMARY KEY (day, part)
);

CREATE TABLE usage_mark (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  seq BIGINT NOT NULL,
  rows BIGINT NOT NULL,
  parts BIGINT NOT NULL,
  from_day BIGINT NOT NULL,
  to_day BIGINT NOT NULL,
  sum BIGINT NOT NULL
);
