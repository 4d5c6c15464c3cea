-- Number of the newest lease when the owner last listed the indexes while no instance held the volume. Packs are deleted only if no
-- lease has begun since: a prune that read the indexes before it would delete packs that the newer snapshots need.
ALTER TABLE "volume" ADD COLUMN "listed_lease" BIGINT;
