-- The rows that one account pays, for histories of usage (docs/design/0128).
CREATE INDEX ledger_payer ON ledger (payer, seq);
