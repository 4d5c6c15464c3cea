-- CreateEnum
CREATE TYPE "gpu_tier" AS ENUM ('FLAGSHIP', 'DATACENTER', 'CONSUMER_FLAGSHIP', 'CONSUMER');

-- CreateEnum
CREATE TYPE "machine_state" AS ENUM ('LISTED', 'DRAINED', 'OFFLINE', 'RETIRED');

-- CreateEnum
CREATE TYPE "pricing_mode" AS ENUM ('ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED');

-- CreateEnum
CREATE TYPE "instance_status" AS ENUM ('RUNNING', 'STOPPED', 'DESTROYED');

-- CreateEnum
CREATE TYPE "stop_reason" AS ENUM ('USER', 'PREEMPTED', 'BALANCE_EXHAUSTED', 'ACCOUNT_SUSPENDED', 'OPERATOR');

-- CreateEnum
CREATE TYPE "usage_resource" AS ENUM ('GPU', 'DISK');

-- CreateEnum
CREATE TYPE "ledger_kind" AS ENUM ('CREDIT', 'ADJUSTMENT', 'GPU_USAGE', 'DISK_USAGE', 'EARLY_EXIT');

-- CreateTable
CREATE TABLE "installation" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "seed" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gpu_model" (
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "vram_gb" INTEGER NOT NULL,
    "tier" "gpu_tier" NOT NULL,
    "nvlink" BOOLEAN NOT NULL,
    "pcie_gen" INTEGER NOT NULL,
    "reference_price_micro" BIGINT NOT NULL,
    "position" INTEGER NOT NULL,

    CONSTRAINT "gpu_model_pkey" PRIMARY KEY ("slug")
);

-- CreateTable
CREATE TABLE "region" (
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "country" TEXT NOT NULL,
    "latitude" DOUBLE PRECISION NOT NULL,
    "longitude" DOUBLE PRECISION NOT NULL,
    "position" INTEGER NOT NULL,

    CONSTRAINT "region_pkey" PRIMARY KEY ("code")
);

-- CreateTable
CREATE TABLE "market_snapshot" (
    "date" DATE NOT NULL,
    "published_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "market_snapshot_pkey" PRIMARY KEY ("date")
);

-- CreateTable
CREATE TABLE "gpu_price" (
    "snapshot_date" DATE NOT NULL,
    "gpu" TEXT NOT NULL,
    "on_demand_rate" BIGINT NOT NULL,
    "median_micro" BIGINT,
    "listings" INTEGER NOT NULL,

    CONSTRAINT "gpu_price_pkey" PRIMARY KEY ("snapshot_date","gpu")
);

-- CreateTable
CREATE TABLE "template" (
    "slug" TEXT NOT NULL,
    "image" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "position" INTEGER NOT NULL,

    CONSTRAINT "template_pkey" PRIMARY KEY ("slug")
);

-- CreateTable
CREATE TABLE "machine" (
    "id" TEXT NOT NULL,
    "gpu" TEXT NOT NULL,
    "num_gpus" INTEGER NOT NULL,
    "region" TEXT NOT NULL,
    "cpu" TEXT NOT NULL,
    "vcpus" INTEGER NOT NULL,
    "ram_gb" INTEGER NOT NULL,
    "disk_gb" INTEGER NOT NULL,
    "net_down_mbps" INTEGER NOT NULL,
    "net_up_mbps" INTEGER NOT NULL,
    "ports" INTEGER NOT NULL,
    "pcie" INTEGER NOT NULL,
    "nvlink" BOOLEAN NOT NULL,
    "cuda_max" TEXT NOT NULL,
    "reliability" DOUBLE PRECISION NOT NULL,
    "state" "machine_state" NOT NULL DEFAULT 'LISTED',
    "demo" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "machine_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "account" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "demo" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "suspended_at" TIMESTAMPTZ(0),
    "credit_units" BIGINT NOT NULL DEFAULT 0,
    "spend_units" BIGINT NOT NULL DEFAULT 0,
    "burn_rate" BIGINT NOT NULL DEFAULT 0,
    "settled_at" TIMESTAMPTZ(0) NOT NULL,
    "month_start_spend_units" BIGINT NOT NULL DEFAULT 0,
    "live_instances" INTEGER NOT NULL DEFAULT 0,
    "deployed_instances" INTEGER NOT NULL DEFAULT 0,
    "exhausted_at" TIMESTAMPTZ(0),
    "disk_delete_at" TIMESTAMPTZ(0),
    "due_at" TIMESTAMPTZ(0),

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "prefix" TEXT NOT NULL,
    "last_four" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "last_used_at" TIMESTAMPTZ(0),
    "revoked_at" TIMESTAMPTZ(0),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "machine_id" TEXT NOT NULL,
    "status" "instance_status" NOT NULL,
    "gpu" TEXT NOT NULL,
    "num_gpus" INTEGER NOT NULL,
    "region" TEXT NOT NULL,
    "template" TEXT NOT NULL,
    "disk_gb" INTEGER NOT NULL,
    "mode" "pricing_mode" NOT NULL,
    "gpu_rate" BIGINT NOT NULL,
    "disk_rate" BIGINT NOT NULL,
    "on_demand_rate" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "running_since" TIMESTAMPTZ(0),
    "stopped_at" TIMESTAMPTZ(0),
    "destroyed_at" TIMESTAMPTZ(0),
    "stop_reason" "stop_reason",
    "gpu_seconds" BIGINT NOT NULL DEFAULT 0,
    "gpu_intervals" INTEGER NOT NULL DEFAULT 1,
    "reserved_until" TIMESTAMPTZ(0),
    "early_exit_units" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "instance_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage_interval" (
    "instance_id" TEXT NOT NULL,
    "resource" "usage_resource" NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "rate" BIGINT NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "ended_at" TIMESTAMPTZ(0),

    CONSTRAINT "usage_interval_pkey" PRIMARY KEY ("instance_id","resource","ordinal")
);

-- CreateTable
CREATE TABLE "ledger_entry" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "units" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(0) NOT NULL,
    "instance_id" TEXT,
    "reference" TEXT,
    "note" TEXT,

    CONSTRAINT "ledger_entry_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "account_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "response" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("account_id","key")
);

-- CreateIndex
CREATE INDEX "gpu_price_gpu_idx" ON "gpu_price"("gpu");

-- CreateIndex
CREATE INDEX "machine_gpu_idx" ON "machine"("gpu");

-- CreateIndex
CREATE INDEX "machine_region_idx" ON "machine"("region");

-- CreateIndex
CREATE INDEX "account_due_at_idx" ON "account"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE INDEX "api_key_account_id_idx" ON "api_key"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "instance_account_id_sequence_key" ON "instance"("account_id", "sequence");

-- CreateIndex
CREATE INDEX "ledger_entry_account_id_at_id_idx" ON "ledger_entry"("account_id", "at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entry_account_id_reference_key" ON "ledger_entry"("account_id", "reference");

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- AddForeignKey
ALTER TABLE "gpu_price" ADD CONSTRAINT "gpu_price_snapshot_date_fkey" FOREIGN KEY ("snapshot_date") REFERENCES "market_snapshot"("date") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "gpu_price" ADD CONSTRAINT "gpu_price_gpu_fkey" FOREIGN KEY ("gpu") REFERENCES "gpu_model"("slug") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machine" ADD CONSTRAINT "machine_gpu_fkey" FOREIGN KEY ("gpu") REFERENCES "gpu_model"("slug") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machine" ADD CONSTRAINT "machine_region_fkey" FOREIGN KEY ("region") REFERENCES "region"("code") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_interval" ADD CONSTRAINT "usage_interval_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entry" ADD CONSTRAINT "ledger_entry_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_key" ADD CONSTRAINT "idempotency_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

