-- Key-value pairs by which renters find their instances.
ALTER TABLE "instance" ADD COLUMN "labels" JSONB;
