-- What bounds an API key: null for nothing. An SSH key that such a key added ends with it.
ALTER TABLE "api_key" ADD COLUMN "scopes" TEXT[], ADD COLUMN "expires_at" TIMESTAMPTZ(0), ADD COLUMN "networks" TEXT[];
ALTER TABLE "ssh_key" ADD COLUMN "api_key_id" TEXT;
