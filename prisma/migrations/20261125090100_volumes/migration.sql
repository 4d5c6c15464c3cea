-- Work that survives its machine: an account's own disks, kept in the store of volumes (src/domain/volumes).
CREATE TABLE "volume" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "size_gb" INTEGER NOT NULL,
    "gb_rate" BIGINT NOT NULL,
    "key_id" TEXT,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "deleted_at" TIMESTAMPTZ(0),
    "erased_at" TIMESTAMPTZ(0),
    "sealed_password" BYTEA NOT NULL,
    "sealing_key_id" TEXT NOT NULL,
    "stored_bytes" BIGINT NOT NULL DEFAULT 0,
    "lease" BIGINT NOT NULL DEFAULT 0,
    "lease_instance_id" TEXT,
    "lease_host_id" TEXT,
    "lease_nonce" TEXT,
    "lease_since" TIMESTAMPTZ(0),

    CONSTRAINT "volume_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "volume_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "volume_lease_whole" CHECK (("lease_instance_id" IS NULL) = ("lease_nonce" IS NULL))
);
CREATE INDEX "volume_account_id_idx" ON "volume"("account_id") WHERE "erased_at" IS NULL;
CREATE INDEX "volume_lease_instance_id_idx" ON "volume"("lease_instance_id") WHERE "lease_instance_id" IS NOT NULL;

CREATE TABLE "volume_interval" (
    "volume_id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "size_gb" INTEGER NOT NULL,
    "rate" BIGINT NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "ended_at" TIMESTAMPTZ(0),
    "key_id" TEXT,

    CONSTRAINT "volume_interval_pkey" PRIMARY KEY ("volume_id", "ordinal"),
    CONSTRAINT "volume_interval_volume_id_fkey" FOREIGN KEY ("volume_id") REFERENCES "volume"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

CREATE TABLE "volume_attachment" (
    "instance_id" TEXT NOT NULL,
    "volume_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,

    CONSTRAINT "volume_attachment_pkey" PRIMARY KEY ("instance_id", "volume_id"),
    CONSTRAINT "volume_attachment_volume_id_fkey" FOREIGN KEY ("volume_id") REFERENCES "volume"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "volume_attachment_volume_id_idx" ON "volume_attachment"("volume_id");

CREATE TABLE "volume_snapshot" (
    "volume_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "lease" BIGINT,
    "instance_id" TEXT,
    "size_bytes" BIGINT,
    "dropped_at" TIMESTAMPTZ(0),

    CONSTRAINT "volume_snapshot_pkey" PRIMARY KEY ("volume_id", "id"),
    CONSTRAINT "volume_snapshot_volume_id_fkey" FOREIGN KEY ("volume_id") REFERENCES "volume"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "volume_snapshot_at" ON "volume_snapshot"("volume_id", "at");

-- Its agent runs restic and may mount: instances with volumes may run there.
ALTER TABLE "machine_host" ADD COLUMN "volumes" BOOLEAN NOT NULL DEFAULT false;
-- GB of the host's disk that the attached volumes take, beside disk_gb.
ALTER TABLE "instance" ADD COLUMN "volume_gb" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "account" ADD COLUMN "live_volumes" INTEGER NOT NULL DEFAULT 0;
