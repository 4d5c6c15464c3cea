-- What the gateway itself does with the repository of a volume.
-- While it works on it: makes the token of that work. Left behind by a gateway that died, until the next one clears it.
ALTER TABLE "volume" ADD COLUMN "upkeep_nonce" TEXT;
-- When old snapshots were last dropped, and since when that fails.
ALTER TABLE "volume" ADD COLUMN "kept_at" TIMESTAMPTZ(0);
ALTER TABLE "volume" ADD COLUMN "keep_failed_at" TIMESTAMPTZ(0);
-- Of a volume that was put back to a snapshot of another: whose repository it begins as, from which snapshot it starts while
-- it has no newer one, and when all of it was there.
ALTER TABLE "volume" ADD COLUMN "copy_of" TEXT;
ALTER TABLE "volume" ADD COLUMN "head_snapshot_id" TEXT;
ALTER TABLE "volume" ADD COLUMN "copied_at" TIMESTAMPTZ(0);

-- Who has put which lock into a repository: locks of leases that are over, and of gateways that died, are removed.
CREATE TABLE "volume_lock" (
    "volume_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "lease" BIGINT,
    "upkeep" TEXT,

    CONSTRAINT "volume_lock_pkey" PRIMARY KEY ("volume_id", "name"),
    CONSTRAINT "volume_lock_volume_id_fkey" FOREIGN KEY ("volume_id") REFERENCES "volume"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
