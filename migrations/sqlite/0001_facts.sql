-- The log of facts, what is read from it often, and checkpoints. Applied in one transaction.
-- `sum` is a CRC32C over the row's other columns (server/store/row_sum.h). Sums begin at that of the
-- store's uuid, so that a row of another store does not fit; `ord` counts rows without a gap.

-- What this file is. fact_version: what wrote it last; uuid: names this store for ever; checkpoint_sum and
-- checkpoint_anchor: the sums of the checkpoint's last row and of the fact as of which it was made.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  sum INTEGER NOT NULL
) WITHOUT ROWID;

-- What the tables below must have: one row, written by each commit. facts: number of the last fact.
CREATE TABLE head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  facts INTEGER NOT NULL,
  facts_sum INTEGER NOT NULL,
  ledger INTEGER NOT NULL,
  audit INTEGER NOT NULL,
  sum INTEGER NOT NULL
);

-- The state is the fold of these. seq has no gaps and time_ms never falls; body is the protobuf form of
-- proto/subak/fact/v1/fact.proto, kind says of which message. Each sum goes on from that of the fact before.
CREATE TABLE facts (
  seq INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  body BLOB NOT NULL,
  sum INTEGER NOT NULL
);

-- The books: one row per Charged fact, under the fact's number and time.
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  job INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  holder INTEGER NOT NULL,
  payer INTEGER NOT NULL,
  state INTEGER NOT NULL,
  node INTEGER NOT NULL,
  product TEXT NOT NULL,
  milligpu INTEGER NOT NULL,
  corrects INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  CHECK (from_ms < to_ms)
);
CREATE UNIQUE INDEX ledger_once ON ledger (job, rank, attempt, from_ms, corrects);

-- Who changed what: one row per edit, done or refused. `thing` is the identity of what was edited
-- ("account 7"), so that its rows form its history; `subject` is its name at that time.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  what TEXT NOT NULL,
  thing TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  before TEXT NOT NULL,
  after TEXT NOT NULL,
  error TEXT NOT NULL,
  request_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  sum INTEGER NOT NULL
);
CREATE INDEX audit_thing ON audit (thing, seq);

-- Facts that rebuild the state as of `seq`. Complete and in use: the one that meta.checkpoint_seq names.
-- Each sum goes on from that of the row before.
CREATE TABLE checkpoint (
  seq INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  body BLOB NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (seq, ord)
) WITHOUT ROWID;
