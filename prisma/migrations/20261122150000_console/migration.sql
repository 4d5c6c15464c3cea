-- AlterTable
ALTER TABLE "account" ADD COLUMN     "signed_up_at" TIMESTAMPTZ(0);

-- CreateTable
CREATE TABLE "console_session" (
    "token_hash" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "expires_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "console_session_pkey" PRIMARY KEY ("token_hash")
);

-- CreateIndex
CREATE INDEX "console_session_key_id_idx" ON "console_session"("key_id");

-- CreateIndex
CREATE INDEX "console_session_expires_at_idx" ON "console_session"("expires_at");

-- CreateIndex
CREATE INDEX "account_signed_up_at_idx" ON "account"("signed_up_at");

-- AddForeignKey
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The end of a session is told as a change of its key: whoever remembers the key, or streams with it, looks again.
CREATE FUNCTION "tell_session_end"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'api_key', 'id', OLD.key_id)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "console_session_ended" AFTER DELETE ON "console_session"
  FOR EACH ROW EXECUTE FUNCTION "tell_session_end"();
