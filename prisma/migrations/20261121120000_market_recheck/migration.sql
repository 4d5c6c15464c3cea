-- CreateEnum
CREATE TYPE "recheck_status" AS ENUM ('TRYING', 'PUBLISHED', 'CURRENT', 'FAILED');

-- CreateTable
CREATE TABLE "market_recheck" (
    "day" DATE NOT NULL,
    "status" "recheck_status" NOT NULL DEFAULT 'TRYING',
    "attempts" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "next_attempt_at" TIMESTAMPTZ(0),
    "finished_at" TIMESTAMPTZ(0),
    "failed_at" TIMESTAMPTZ(0),
    "error" TEXT,

    CONSTRAINT "market_recheck_pkey" PRIMARY KEY ("day")
);

-- One that is still tried knows when; one that is finished knows since when.
ALTER TABLE "market_recheck"
  ADD CONSTRAINT "market_recheck_state" CHECK (("status" = 'TRYING') = ("next_attempt_at" IS NOT NULL)
    AND ("status" = 'TRYING') = ("finished_at" IS NULL) AND ("failed_at" IS NULL) = ("error" IS NULL) AND "attempts" >= 0);

-- Public answers tell when the market was fetched.
CREATE FUNCTION "tell_market_recheck"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', '{"table":"market_recheck"}');
  RETURN NULL;
END $$;
CREATE TRIGGER "market_recheck_changed" AFTER INSERT OR UPDATE OR DELETE ON "market_recheck"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_market_recheck"();
