-- A host is rented by the GPU: several machines are blocks of one host's GPUs (src/domain/rules/slices.ts).
ALTER TABLE "machine" ADD COLUMN "host_id" TEXT NOT NULL DEFAULT '';
ALTER TABLE "machine" ADD COLUMN "first_gpu" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "machine" ADD COLUMN "sold" BOOLEAN NOT NULL DEFAULT true;
UPDATE "machine" SET "host_id" = "id";
CREATE FUNCTION "machine_is_host"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.host_id := NEW.id;
  RETURN NEW;
END $$;
CREATE TRIGGER "machine_without_host" BEFORE INSERT ON "machine"
  FOR EACH ROW WHEN (NEW.host_id = '') EXECUTE FUNCTION "machine_is_host"();

ALTER TABLE "machine_host" ADD COLUMN "protocol" INTEGER NOT NULL DEFAULT 1;
ALTER TABLE "machine_host" ADD COLUMN "slices" INTEGER[] NOT NULL DEFAULT '{0}';
ALTER TABLE "machine_host" ADD COLUMN "gpus" JSONB NOT NULL DEFAULT '[]';
ALTER TABLE "machine_host" ADD COLUMN "missing" INTEGER[] NOT NULL DEFAULT '{}';
ALTER TABLE "machine_enrolment" ADD COLUMN "slices" INTEGER[] NOT NULL DEFAULT '{0}';

-- Of instances of earlier versions: their machine, and its first GPU.
ALTER TABLE "instance" ADD COLUMN "host_id" TEXT;
ALTER TABLE "instance" ADD COLUMN "first_gpu" INTEGER NOT NULL DEFAULT 0;

-- A GPU has at most one running instance, whatever program writes.
CREATE TABLE "sold_gpu" (
    "host_id" TEXT NOT NULL,
    "gpu" INTEGER NOT NULL,
    "instance_id" TEXT NOT NULL,

    CONSTRAINT "sold_gpu_pkey" PRIMARY KEY ("host_id", "gpu")
);
CREATE INDEX "sold_gpu_instance_id_idx" ON "sold_gpu"("instance_id");
INSERT INTO "sold_gpu" SELECT "machine_id", "place", "instance"."id" FROM "instance", generate_series(0, "num_gpus" - 1) AS "place"
  WHERE "status" = 'RUNNING';
CREATE FUNCTION "sell_gpus"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'RUNNING' THEN
    INSERT INTO sold_gpu SELECT host_id, place, NEW.id
      FROM machine, generate_series(first_gpu, first_gpu + NEW.num_gpus - 1) AS place WHERE machine.id = NEW.machine_id;
  ELSE
    DELETE FROM sold_gpu WHERE instance_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "instance_begins" AFTER INSERT ON "instance"
  FOR EACH ROW WHEN (NEW.status = 'RUNNING') EXECUTE FUNCTION "sell_gpus"();
CREATE TRIGGER "instance_starts_or_stops" AFTER UPDATE OF "status" ON "instance"
  FOR EACH ROW WHEN (OLD.status <> NEW.status AND (OLD.status = 'RUNNING' OR NEW.status = 'RUNNING')) EXECUTE FUNCTION "sell_gpus"();

-- Gateways look after hosts, not blocks.
CREATE OR REPLACE FUNCTION "tell_instance"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object(
    'table', 'instance', 'id', NEW.id, 'account', NEW.account_id, 'machine', coalesce(NEW.host_id, NEW.machine_id))::text);
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION "tell_machines"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ids text[] := ARRAY(SELECT DISTINCT host_id FROM changed LIMIT 1001);
BEGIN
  IF cardinality(ids) > 1000 THEN
    PERFORM pg_notify('gateway', '{"table":"machine"}');
  ELSE
    FOR place IN 1 .. cardinality(ids) BY 50 LOOP
      PERFORM pg_notify('gateway', json_build_object('table', 'machine', 'ids', ids[place : place + 49])::text);
    END LOOP;
  END IF;
  RETURN NULL;
END $$;
