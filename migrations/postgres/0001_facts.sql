-- The same records as migrations/sqlite/0001_facts.sql, of a store that several machines can open: each fact
-- carries the epoch of the leader that wrote it. Sums are the same as there. Texts that people and pods chose are
-- BYTEA: TEXT refuses bytes that a fact may have, such as a zero.

-- fact_version, uuid, checkpoint: as in the file, but the last is one row: "seq facts parts sum anchor".
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  sum BIGINT NOT NULL
);

-- The state is the fold of these. (seq, epoch) names one fact for ever. ledger, audit: how many rows of
-- those tables there are with this fact; so the last fact says how many there must be.
CREATE TABLE facts (
  seq BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  time_ms BIGINT NOT NULL,
  kind BIGINT NOT NULL,
  body BYTEA NOT NULL,
  ledger BIGINT NOT NULL,
  audit BIGINT NOT NULL,
  sum BIGINT NOT NULL
);

CREATE TABLE ledger (
  seq BIGINT PRIMARY KEY,
  time_ms BIGINT NOT NULL,
  job BIGINT NOT NULL,
  rank BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  holder BIGINT NOT NULL,
  payer BIGINT NOT NULL,
  state BIGINT NOT NULL,
  node BIGINT NOT NULL,
  product BYTEA NOT NULL,
  milligpu BIGINT NOT NULL,
  corrects BIGINT NOT NULL,
  ord BIGINT NOT NULL,
  sum BIGINT NOT NULL,
  CHECK (from_ms < to_ms)
);
CREATE UNIQUE INDEX ledger_once ON ledger (job, rank, attempt, from_ms, corrects);

CREATE TABLE audit (
  seq BIGINT PRIMARY KEY,
  time_ms BIGINT NOT NULL,
  actor BYTEA NOT NULL,
  what BYTEA NOT NULL,
  thing BYTEA NOT NULL,
  subject BYTEA NOT NULL,
  reason BYTEA NOT NULL,
  before BYTEA NOT NULL,
  after BYTEA NOT NULL,
  error BYTEA NOT NULL,
  request_id BYTEA NOT NULL,
  ord BIGINT NOT NULL,
  sum BIGINT NOT NULL
);
CREATE INDEX audit_thing ON audit (thing, seq);

-- For people.
CREATE VIEW ledger_text AS
  SELECT seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node,
         encode(product, 'escape') AS product, milligpu, corrects
  FROM ledger;
CREATE VIEW audit_text AS
  SELECT seq, time_ms, encode(actor, 'escape') AS actor, encode(what, 'escape') AS what,
         encode(thing, 'escape') AS thing, encode(subject, 'escape') AS subject,
         encode(reason, 'escape') AS reason, encode(before, 'escape') AS before,
         encode(after, 'escape') AS after, encode(error, 'escape') AS error,
         encode(request_id, 'escape') AS request_id
  FROM audit;

-- Facts that rebuild the state as of `seq`, many to a row. Complete and in use: the one that meta names.
CREATE TABLE checkpoint (
  seq BIGINT NOT NULL,
  part BIGINT NOT NULL,
  rows BYTEA NOT NULL,
  PRIMARY KEY (seq, part)
);

-- What is kept beside a checkpoint and may be lost.
CREATE TABLE told (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  bytes BYTEA NOT NULL
);
