-- The log of facts, what is read from it often, and checkpoints. Applied in one transaction.

-- What this file is. fact_version: what wrote it last; uuid: names this store for ever.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- The state is the fold of these. seq has no gaps and time_ms never falls; body is the protobuf form of
-- proto/subak/fact/v1/fact.proto, kind says of which message.
CREATE TABLE facts (
  seq INTEGER PRIMARY KEY,
  time_ms INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  body BLOB NOT NULL
);

-- The books: one row per Charged fact, under the fact's number.
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
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
  request_id TEXT NOT NULL
);
CREATE INDEX audit_thing ON audit (thing, seq);
CREATE INDEX audit_subject ON audit (subject, seq);

-- Facts that rebuild the state as of `seq`. Complete and in use: the one that meta.checkpoint_seq names.
CREATE TABLE checkpoint (
  seq INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (seq, ord)
) WITHOUT ROWID;
