-- An outage is its host's; a missing GPU concerns only who has it (src/domain/fleet/hosts.ts).
CREATE TABLE "gpu_loss" (
    "instance_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(0) NOT NULL,
    "ended_at" TIMESTAMPTZ(0),
    "settled" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "gpu_loss_pkey" PRIMARY KEY ("instance_id","started_at")
);
CREATE INDEX "gpu_loss_open" ON "gpu_loss" ("instance_id") WHERE NOT "settled";

-- A version before slices would rent a part of a host without its agent.
CREATE FUNCTION "refuse_part_of_host"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM machine WHERE id = NEW.machine_id AND host_id <> id) THEN
    RAISE EXCEPTION 'machine % is a part of a host, which this version of the gateway can not rent', NEW.machine_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "instance_of_earlier_version" BEFORE INSERT ON "instance"
  FOR EACH ROW WHEN (NEW.host_id IS NULL) EXECUTE FUNCTION "refuse_part_of_host"();
