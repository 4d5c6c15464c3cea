-- What instances did, as their host agents measured it. One partition for each step: the fine ones turn over quickly, and
-- are vacuumed without the others. Instances are not referred to: a reference would be checked with each row, and lock theirs.
CREATE TABLE "instance_sample" (
    "step_seconds" INTEGER NOT NULL,
    "instance_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(0) NOT NULL,
    "cpu_percent" REAL,
    "memory_used_bytes" BIGINT,
    "disk_used_bytes" BIGINT,
    "network_in_bytes_per_second" BIGINT,
    "network_out_bytes_per_second" BIGINT,
    "processes" INTEGER,

    CONSTRAINT "instance_sample_pkey" PRIMARY KEY ("step_seconds", "instance_id", "at")
) PARTITION BY LIST ("step_seconds");
CREATE TABLE "instance_sample_10" PARTITION OF "instance_sample" FOR VALUES IN (10);
CREATE TABLE "instance_sample_60" PARTITION OF "instance_sample" FOR VALUES IN (60);
CREATE TABLE "instance_sample_900" PARTITION OF "instance_sample" FOR VALUES IN (900);
-- To roll up and to drop by age.
CREATE INDEX "instance_sample_step_seconds_at_idx" ON "instance_sample"("step_seconds", "at");

CREATE TABLE "gpu_sample" (
    "step_seconds" INTEGER NOT NULL,
    "instance_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(0) NOT NULL,
    -- Among the instance's GPUs, from 0.
    "place" INTEGER NOT NULL,
    "busy_percent" REAL,
    -- Of the samples of 10 s within the step.
    "busy_max_percent" REAL,
    "memory_used_mb" INTEGER,
    "memory_total_mb" INTEGER,
    "power_watts" REAL,
    "celsius" REAL,
    "sm_mhz" REAL,
    "faults" INTEGER,
    "processes" INTEGER,

    CONSTRAINT "gpu_sample_pkey" PRIMARY KEY ("step_seconds", "instance_id", "at", "place")
) PARTITION BY LIST ("step_seconds");
CREATE TABLE "gpu_sample_10" PARTITION OF "gpu_sample" FOR VALUES IN (10);
CREATE TABLE "gpu_sample_60" PARTITION OF "gpu_sample" FOR VALUES IN (60);
CREATE TABLE "gpu_sample_900" PARTITION OF "gpu_sample" FOR VALUES IN (900);
CREATE INDEX "gpu_sample_step_seconds_at_idx" ON "gpu_sample"("step_seconds", "at");

-- Up to when the samples of 10 s are in the steps of each length.
CREATE TABLE "sample_rollup" (
    "step_seconds" INTEGER NOT NULL,
    "rolled_to" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "sample_rollup_pkey" PRIMARY KEY ("step_seconds")
);
INSERT INTO "sample_rollup" ("step_seconds", "rolled_to") VALUES (60, 'epoch'), (900, 'epoch');
