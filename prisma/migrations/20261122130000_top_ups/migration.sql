-- CreateEnum
CREATE TYPE "payment_state" AS ENUM ('SEEN', 'CONFIRMING', 'QUARANTINED', 'CREDITED', 'REFUSED', 'REVERSED', 'GONE');

-- CreateTable
CREATE TABLE "top_up" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "processor" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "usd_micro" BIGINT NOT NULL,
    "invoice" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "amount" TEXT NOT NULL,
    "rate" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "expires_at" TIMESTAMPTZ(0) NOT NULL,
    "checked_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "top_up_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment" (
    "processor" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "transaction" TEXT NOT NULL,
    "top_up_id" TEXT NOT NULL,
    "state" "payment_state" NOT NULL,
    "coins" TEXT NOT NULL,
    "usd_micro" BIGINT,
    "confirmations" INTEGER NOT NULL,
    "first_seen_at" TIMESTAMPTZ(0) NOT NULL,
    "credited_at" TIMESTAMPTZ(0),
    "asked_back" BOOLEAN NOT NULL,
    "reason" TEXT,

    CONSTRAINT "payment_pkey" PRIMARY KEY ("processor","asset","transaction","top_up_id")
);

-- CreateTable
CREATE TABLE "aside_callback" (
    "id" TEXT NOT NULL,
    "processor" TEXT NOT NULL,
    "digest" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "times" INTEGER NOT NULL,
    "received_at" TIMESTAMPTZ(0) NOT NULL,
    "last_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "aside_callback_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "top_up_account_id_created_at_id_idx" ON "top_up"("account_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "top_up_checked_at_idx" ON "top_up"("checked_at");

-- CreateIndex
CREATE INDEX "payment_top_up_id_idx" ON "payment"("top_up_id");

-- CreateIndex
CREATE UNIQUE INDEX "aside_callback_processor_digest_key" ON "aside_callback"("processor", "digest");

-- AddForeignKey
ALTER TABLE "top_up" ADD CONSTRAINT "top_up_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payment" ADD CONSTRAINT "payment_top_up_id_fkey" FOREIGN KEY ("top_up_id") REFERENCES "top_up"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language can't say.
ALTER TABLE "top_up"
  ADD CONSTRAINT "top_up_bounds" CHECK ("id" ~ '^t-[a-f0-9]{20}$' AND "usd_micro" > 0 AND "expires_at" > "created_at");
ALTER TABLE "payment"
  ADD CONSTRAINT "payment_bounds" CHECK ("confirmations" >= 0
    AND (("state" IN ('CREDITED', 'REVERSED')) = ("credited_at" IS NOT NULL))
    AND ("credited_at" IS NULL OR "usd_micro" > 0));

-- A credited payment stays so, until an operator takes its credit back; a refused or reversed one stays what it is.
CREATE FUNCTION "keep_payment"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.state IN ('REFUSED', 'REVERSED')
    OR (OLD.state = 'CREDITED' AND (NEW.state <> 'REVERSED' OR NEW.usd_micro <> OLD.usd_micro)) THEN
    RAISE EXCEPTION 'payment % is over: book an adjustment instead', OLD.transaction;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "payment_kept" BEFORE UPDATE OR DELETE ON "payment" FOR EACH ROW EXECUTE FUNCTION "keep_payment"();

-- Payments are rare enough to be told within their transaction, by whoever makes them.
CREATE FUNCTION "tell_top_up"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'top_up', 'id', NEW.top_up_id, 'account',
    (SELECT account_id FROM top_up WHERE id = NEW.top_up_id))::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "payment_changed" AFTER INSERT OR UPDATE ON "payment" FOR EACH ROW EXECUTE FUNCTION "tell_top_up"();
