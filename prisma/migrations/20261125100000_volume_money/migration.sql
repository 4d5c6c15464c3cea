-- Why a volume was deleted.
ALTER TABLE "volume" ADD COLUMN "delete_reason" "stop_reason";
