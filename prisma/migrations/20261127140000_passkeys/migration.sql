-- Passkeys sign browsers in on behalf of the API key whose session created them. A key that is revoked or expired keeps its
-- passkeys, which are then rejected.
CREATE TABLE "passkey" (
    "id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "rp_id" TEXT NOT NULL,
    "credential_id" BYTEA NOT NULL,
    "public_key" BYTEA NOT NULL,
    "sign_count" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "last_used_at" TIMESTAMPTZ(0),

    CONSTRAINT "passkey_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "passkey_credential_id_key" ON "passkey"("credential_id");
CREATE INDEX "passkey_key_id_idx" ON "passkey"("key_id");
ALTER TABLE "passkey" ADD CONSTRAINT "passkey_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The passkey that opened a session. Deleting it deletes the session, whose trigger sends the notice. Older gateways leave
-- it null, because they only open sessions with keys.
ALTER TABLE "console_session" ADD COLUMN "passkey_id" TEXT;
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_passkey_id_fkey" FOREIGN KEY ("passkey_id") REFERENCES "passkey"("id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;

-- Challenges are signed by the gateway and not stored. Only one that has been answered correctly is, so that it can't be
-- answered again.
CREATE TABLE "used_challenge" (
    "hash" BYTEA NOT NULL,
    "used_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "used_challenge_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "used_challenge_used_at_idx" ON "used_challenge"("used_at");
