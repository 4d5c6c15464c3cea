-- What a start gives back follows only what its renter can't cause; what an operator expects of a host that joins.

ALTER TYPE "service_gap_reason" ADD VALUE 'SLOW_START';
ALTER TYPE "service_gap_reason" ADD VALUE 'TEMPLATE_START';

ALTER TABLE "container_start"
  ADD COLUMN "host_fault" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "operator_image" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "waits_for_own" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "waited_until" TIMESTAMPTZ(0);

-- What failed before and is not booked yet was promised to be given back.
UPDATE "container_start" SET "host_fault" = true WHERE "failed_at" IS NOT NULL AND NOT "settled";

-- Seconds of starts of the operator's templates that were given back to an account in a UTC day.
CREATE TABLE "template_start_credit" (
    "account_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "seconds" INTEGER NOT NULL,

    CONSTRAINT "template_start_credit_pkey" PRIMARY KEY ("account_id","day"),
    CONSTRAINT "template_start_credit_bounds" CHECK ("seconds" BETWEEN 1 AND 600),
    CONSTRAINT "template_start_credit_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

ALTER TABLE "machine_enrolment" ADD COLUMN "num_gpus" INTEGER;

-- Which machine has a GPU, by the GPU's own id: two machines can't have the same.
CREATE TABLE "machine_gpu" (
    "uuid" TEXT NOT NULL,
    "machine_id" TEXT NOT NULL,

    CONSTRAINT "machine_gpu_pkey" PRIMARY KEY ("uuid")
);
CREATE INDEX "machine_gpu_machine_id_idx" ON "machine_gpu"("machine_id");
ALTER TABLE "machine_gpu" ADD CONSTRAINT "machine_gpu_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
INSERT INTO "machine_gpu" ("uuid", "machine_id")
SELECT gpu->>'uuid', "machine_id" FROM "machine_host", jsonb_array_elements("hardware"->'gpus') AS gpu
WHERE NOT ("hardware"->>'pretended')::boolean ORDER BY "joined_at" DESC
ON CONFLICT DO NOTHING;
