-- What an instance, an API key and an account may spend, and what is needed to know when they have.
ALTER TYPE "stop_reason" ADD VALUE 'SPEND_LIMIT';
ALTER TABLE "instance" ADD COLUMN "spend_limit" BIGINT, ADD COLUMN "limit_reached_at" TIMESTAMPTZ(0),
  ADD COLUMN "key_id" TEXT, ADD COLUMN "run_key_id" TEXT;
ALTER TABLE "usage_interval" ADD COLUMN "key_id" TEXT;
ALTER TABLE "account" ADD COLUMN "monthly_limit" BIGINT, ADD COLUMN "limit_reached_at" TIMESTAMPTZ(0),
  ADD COLUMN "limit_at" TIMESTAMPTZ(0), ADD COLUMN "limited_keys" INTEGER NOT NULL DEFAULT 0;
CREATE TABLE "key_limit" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "monthly_limit" BIGINT,
    "spend_units" BIGINT NOT NULL,
    "burn_rate" BIGINT NOT NULL,
    "settled_at" TIMESTAMPTZ(0) NOT NULL,
    "month_start_spend_units" BIGINT NOT NULL,
    "limit_reached_at" TIMESTAMPTZ(0),
    "limit_at" TIMESTAMPTZ(0),

    CONSTRAINT "key_limit_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "key_limit_account_id_idx" ON "key_limit"("account_id");
ALTER TABLE "key_limit" ADD CONSTRAINT "key_limit_id_fkey" FOREIGN KEY ("id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;
