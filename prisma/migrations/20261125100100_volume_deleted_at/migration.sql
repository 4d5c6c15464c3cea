-- The volumes that a statement of a period has to read.
CREATE INDEX CONCURRENTLY "volume_account_id_deleted_at_idx" ON "volume"("account_id", "deleted_at");
