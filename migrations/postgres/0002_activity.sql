-- The sums of activity (docs/design/0092), which may be lost. part 0: the jobs; other parts: a UTC day, in days
-- since 1970-01-01.
CREATE TABLE activity (
  part BIGINT PRIMARY KEY,
  bytes BYTEA NOT NULL
);
