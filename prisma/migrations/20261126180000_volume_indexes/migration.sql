-- Which index objects of a repository were compared with the packs that they name: nothing is deleted on the word of others.
CREATE TYPE "VolumeIndexState" AS ENUM ('DOUBTED', 'VERIFIED', 'FAILED');

CREATE TABLE "volume_index" (
  "volume_id" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "state" "VolumeIndexState" NOT NULL,

  CONSTRAINT "volume_index_pkey" PRIMARY KEY ("volume_id", "name")
);
ALTER TABLE "volume_index" ADD CONSTRAINT "volume_index_volume_id_fkey"
  FOREIGN KEY ("volume_id") REFERENCES "volume"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "volume" ADD COLUMN "upkeep_indexes" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];
ALTER TABLE "volume" ADD COLUMN "keep_fault" TEXT;

-- Rows of snapshots that are gone, but for the newest of each lease, which says until when its work is stored.
DELETE FROM "volume_snapshot" "old" WHERE "dropped_at" IS NOT NULL AND EXISTS (
  SELECT FROM "volume_snapshot" "newer" WHERE "newer"."volume_id" = "old"."volume_id"
    AND "newer"."lease" IS NOT DISTINCT FROM "old"."lease" AND "newer"."at" > "old"."at");
