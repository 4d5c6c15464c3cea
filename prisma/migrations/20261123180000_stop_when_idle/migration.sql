-- Instances that stop when they are idle for so many minutes, and what is known of that.
ALTER TYPE "stop_reason" ADD VALUE 'IDLE';
ALTER TABLE "instance" ADD COLUMN "stop_when_idle" INTEGER;
ALTER TABLE "machine_host" ADD COLUMN "loads" BOOLEAN NOT NULL DEFAULT false;
CREATE TABLE "idle_watch" (
    "instance_id" TEXT NOT NULL,
    "asked_at" TIMESTAMPTZ(0) NOT NULL,
    "start" INTEGER NOT NULL DEFAULT 0,
    "quiet_since" TIMESTAMPTZ(0),
    "active_at" TIMESTAMPTZ(0),
    "warned_of" TIMESTAMPTZ(0),
    "warned_at" TIMESTAMPTZ(0),

    CONSTRAINT "idle_watch_pkey" PRIMARY KEY ("instance_id")
);
ALTER TABLE "idle_watch" ADD CONSTRAINT "idle_watch_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
