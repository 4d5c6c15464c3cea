-- Machines with a host agent: how they join, what ought to run on them, what was seen of it, and what is given back.

-- AlterEnum
ALTER TYPE "stop_reason" ADD VALUE 'START_FAILED';
ALTER TYPE "ledger_kind" ADD VALUE 'SERVICE_CREDIT';

-- CreateEnum
CREATE TYPE "container_phase" AS ENUM ('WAITING', 'PULLING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'FAILED', 'ERASED');

-- CreateEnum
CREATE TYPE "service_gap_reason" AS ENUM ('START', 'START_FAILED', 'OUTAGE');

-- AlterTable
ALTER TABLE "template" ADD COLUMN "ports" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
  ADD COLUMN "env" JSONB NOT NULL DEFAULT '{}',
  ADD COLUMN "command" JSONB;

-- CreateTable
CREATE TABLE "machine_enrolment" (
    "code_hash" BYTEA NOT NULL,
    "machine_id" TEXT NOT NULL,
    "gpu" TEXT,
    "region" TEXT,
    "online" BOOLEAN NOT NULL,
    "demo" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "expires_at" TIMESTAMPTZ(0) NOT NULL,
    "used_at" TIMESTAMPTZ(0),

    CONSTRAINT "machine_enrolment_pkey" PRIMARY KEY ("code_hash")
);

-- CreateTable
CREATE TABLE "machine_host" (
    "machine_id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "joined_at" TIMESTAMPTZ(0) NOT NULL,
    "revoked_at" TIMESTAMPTZ(0),
    "hardware" JSONB NOT NULL,
    "generation" BIGINT NOT NULL DEFAULT 0,
    "document" JSONB NOT NULL DEFAULT '[]',
    "session" TEXT,
    "sequence" BIGINT NOT NULL DEFAULT 0,
    "past_sessions" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "engine" TEXT,
    "unknown" TEXT[] DEFAULT ARRAY[]::TEXT[],

    CONSTRAINT "machine_host_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "machine_heartbeat" (
    "machine_id" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(0),
    "reachable" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "machine_heartbeat_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "machine_outage" (
    "machine_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "ended_at" TIMESTAMPTZ(0),
    "settled" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "machine_outage_pkey" PRIMARY KEY ("machine_id","started_at")
);

-- CreateTable
CREATE TABLE "container" (
    "instance_id" TEXT NOT NULL,
    "machine_id" TEXT NOT NULL,
    "image" TEXT NOT NULL,
    "command" JSONB,
    "env" JSONB NOT NULL,
    "ports" INTEGER[],
    "told_start" INTEGER NOT NULL DEFAULT 0,
    "phase" "container_phase" NOT NULL DEFAULT 'WAITING',
    "start" INTEGER NOT NULL DEFAULT 0,
    "pulled_bytes" BIGINT,
    "total_bytes" BIGINT,
    "message" TEXT,
    "exit_code" INTEGER,
    "restarts" INTEGER NOT NULL DEFAULT 0,
    "erased_at" TIMESTAMPTZ(0),

    CONSTRAINT "container_pkey" PRIMARY KEY ("instance_id")
);

-- CreateTable
CREATE TABLE "container_start" (
    "instance_id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "running_at" TIMESTAMPTZ(0),
    "failed_at" TIMESTAMPTZ(0),
    "settled" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "container_start_pkey" PRIMARY KEY ("instance_id","ordinal")
);

-- CreateTable
CREATE TABLE "service_gap" (
    "instance_id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "resource" "usage_resource" NOT NULL,
    "reason" "service_gap_reason" NOT NULL,
    "rate" BIGINT NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "ended_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "service_gap_pkey" PRIMARY KEY ("instance_id","ordinal")
);

-- CreateIndex
CREATE INDEX "machine_enrolment_machine_id_idx" ON "machine_enrolment"("machine_id");

-- CreateIndex
CREATE UNIQUE INDEX "machine_host_token_hash_key" ON "machine_host"("token_hash");

-- CreateIndex
CREATE INDEX "container_machine_id_erased_at_idx" ON "container"("machine_id", "erased_at");

-- CreateIndex
CREATE UNIQUE INDEX "service_gap_instance_id_resource_started_at_key" ON "service_gap"("instance_id", "resource", "started_at");

-- AddForeignKey
ALTER TABLE "machine_host" ADD CONSTRAINT "machine_host_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machine_heartbeat" ADD CONSTRAINT "machine_heartbeat_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machine_outage" ADD CONSTRAINT "machine_outage_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "container" ADD CONSTRAINT "container_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "container_start" ADD CONSTRAINT "container_start_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "container"("instance_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "service_gap" ADD CONSTRAINT "service_gap_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Of the many starts and outages there ever were, those not yet accounted for.
CREATE INDEX "container_start_open" ON "container_start" ("instance_id") WHERE NOT "settled";
CREATE INDEX "machine_outage_open" ON "machine_outage" ("machine_id") WHERE NOT "settled";
-- A heartbeat changes no index, so that its row is written in place.
ALTER TABLE "machine_heartbeat" SET (fillfactor = 50);

ALTER TABLE "machine_outage" ADD CONSTRAINT "machine_outage_order" CHECK ("ended_at" > "started_at");
ALTER TABLE "service_gap"
  ADD CONSTRAINT "service_gap_bounds" CHECK ("ended_at" > "started_at" AND "rate" >= 0 AND "ordinal" > 0);
ALTER TABLE "container"
  ADD CONSTRAINT "container_bounds" CHECK ("start" >= 0 AND "restarts" >= 0 AND "pulled_bytes" >= 0 AND "total_bytes" >= 0);
CREATE TRIGGER "service_gap_immutable" BEFORE UPDATE OR DELETE OR TRUNCATE ON "service_gap"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();

-- As text: a value that an enumeration just got can't be used in the same transaction.
ALTER TABLE "ledger_entry" DROP CONSTRAINT "ledger_entry_sign";
ALTER TABLE "ledger_entry" ADD CONSTRAINT "ledger_entry_sign" CHECK (CASE "kind"::text
  WHEN 'CREDIT' THEN "units" > 0 WHEN 'SERVICE_CREDIT' THEN "units" > 0 WHEN 'ADJUSTMENT' THEN "units" <> 0 ELSE "units" <= 0 END);

-- A step of a container is told to whoever looks at its instance, and to the machine's agent: it may free the way for the next.
CREATE FUNCTION "tell_container"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'container', 'id', NEW.instance_id, 'machine', NEW.machine_id,
    'account', (SELECT account_id FROM instance WHERE id = NEW.instance_id))::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "container_changed" AFTER UPDATE OF "phase", "start", "pulled_bytes", "total_bytes", "message", "exit_code",
    "restarts", "erased_at" ON "container"
  FOR EACH ROW WHEN (current_setting('gateway.tells', true) IS DISTINCT FROM 'after') EXECUTE FUNCTION "tell_container"();

-- A token that was revoked or replaced is refused by every gateway at once.
CREATE FUNCTION "tell_host"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'host', 'machine', OLD.machine_id)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "machine_host_token_changed" AFTER UPDATE OF "token_hash", "revoked_at" ON "machine_host"
  FOR EACH ROW EXECUTE FUNCTION "tell_host"();
