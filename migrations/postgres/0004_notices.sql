-- How far the receivers of notices are (docs/design/0125), in one row.
CREATE TABLE notices (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  bytes BYTEA NOT NULL
);
