-- Why a volume was deleted, and the ones that a statement of a period has to read.
ALTER TABLE "volume" ADD COLUMN "delete_reason" "stop_reason";
CREATE INDEX "volume_account_id_deleted_at_idx" ON "volume"("account_id", "deleted_at");
