-- Each second of a machine is sold once, and whoever sends an interruptible instance away pays for a minimum.

-- AlterEnum
ALTER TYPE "ledger_kind" ADD VALUE 'PREEMPTION_MINIMUM';

-- AlterTable
ALTER TABLE "instance" ADD COLUMN "minimum_until" TIMESTAMPTZ(0),
  ADD COLUMN "minimum_units" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "usage_interval" ADD COLUMN "minimum_until" TIMESTAMPTZ(0);

ALTER TABLE "instance" ADD CONSTRAINT "instance_minimum" CHECK ("minimum_units" >= 0
  AND ("minimum_until" IS NULL OR "status" = 'RUNNING'));
ALTER TABLE "usage_interval" ADD CONSTRAINT "usage_interval_minimum" CHECK ("minimum_until" > "started_at");

-- Until when a machine is sold: one look, however long its history is.
CREATE INDEX "instance_machine_id_stopped_at_idx" ON "instance"("machine_id", "stopped_at");
