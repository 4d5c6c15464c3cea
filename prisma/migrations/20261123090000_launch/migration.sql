ALTER TYPE "stop_reason" ADD VALUE 'COMMAND_ENDED';
ALTER TYPE "container_phase" ADD VALUE 'EXITED';

-- Whether the host's agent understands launches, by its last report. What the host is to run follows from it.
ALTER TABLE "machine_host" ADD COLUMN "launches" BOOLEAN NOT NULL DEFAULT false;
CREATE TRIGGER "machine_host_launches_changed" AFTER UPDATE OF "launches" ON "machine_host"
  FOR EACH ROW WHEN (OLD."launches" <> NEW."launches") EXECUTE FUNCTION "tell_host"();

CREATE TYPE "secret_kind" AS ENUM ('VALUE', 'REGISTRY_LOGIN');

CREATE TABLE "secret" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" "secret_kind" NOT NULL,
    "registry" TEXT,
    "username" TEXT,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "secret_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "secret_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "secret_account_id_name_key" ON "secret"("account_id", "name");

CREATE TABLE "instance_launch" (
    "instance_id" TEXT NOT NULL,
    "launch" JSONB NOT NULL,

    CONSTRAINT "instance_launch_pkey" PRIMARY KEY ("instance_id"),
    CONSTRAINT "instance_launch_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
