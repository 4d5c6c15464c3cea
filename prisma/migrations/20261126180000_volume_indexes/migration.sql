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
DELETE FROM "volume_snapshot" "old" USING (
  SELECT "volume_id", COALESCE("lease", 0) AS "lease", max("at") AS "at" FROM "volume_snapshot" GROUP BY 1, 2) "newest"
WHERE "dropped_at" IS NOT NULL AND "newest"."volume_id" = "old"."volume_id"
  AND "newest"."lease" = COALESCE("old"."lease", 0) AND "old"."at" < "newest"."at";
