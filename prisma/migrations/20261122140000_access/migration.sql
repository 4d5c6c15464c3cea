-- Ways into instances: the accounts' SSH keys, and what all gateways share.

-- CreateTable
CREATE TABLE "ssh_key" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "blob" BYTEA NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "comment" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "ssh_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gateway_secret" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "gateway_secret_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "ssh_key_account_id_fingerprint_key" ON "ssh_key"("account_id", "fingerprint");

-- AddForeignKey
ALTER TABLE "ssh_key" ADD CONSTRAINT "ssh_key_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A key that was removed ends what it opened, in every gateway.
CREATE FUNCTION "tell_ssh_key"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'ssh_key', 'id', OLD.id, 'account', OLD.account_id)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "ssh_key_removed" AFTER DELETE ON "ssh_key" FOR EACH ROW EXECUTE FUNCTION "tell_ssh_key"();
