-- Checkpoints of earlier facts (docs/design/0131), in the form of server/store/past/past_checkpoint.h.
-- One is complete if it has part 0, which is written last. They may be lost.
CREATE TABLE past_checkpoints (
  seq BIGINT NOT NULL,
  part BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (seq, part)
);
-- The bytes are compressed already.
ALTER TABLE past_checkpoints ALTER COLUMN bytes SET STORAGE EXTERNAL;
