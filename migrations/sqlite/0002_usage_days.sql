-- Where a row was used, and the sums of rows by day.
-- A row that has all of these values empty has the sum of its first columns, as rows of older versions do.
ALTER TABLE ledger ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN ns TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN profile TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN booked_ms INTEGER NOT NULL DEFAULT 0;

-- Derived from the ledger, and made again if anything is missing. Each row has sums of one UTC day, in the form of
-- server/codec/day_sums.h. `sum` covers the other columns.
CREATE TABLE usage_days (
  day INTEGER NOT NULL,
  part INTEGER NOT NULL,
  sums BLOB NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (day, part)
);

-- How far usage_days reaches: the number of the last fact, how many rows of the ledger it has, and how many rows
-- usage_days has, for days from from_day to before to_day.
CREATE TABLE usage_mark (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  from_day INTEGER NOT NULL,
  to_day INTEGER NOT NULL,
  sum INTEGER NOT NULL
);
