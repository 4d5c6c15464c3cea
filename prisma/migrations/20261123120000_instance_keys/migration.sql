-- An SSH key may open one instance alone, and then goes with it.
ALTER TABLE "ssh_key" ADD COLUMN "instance_id" TEXT;

CREATE FUNCTION "remove_instance_keys"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ssh_key WHERE instance_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER "instance_destroyed" AFTER UPDATE OF "status" ON "instance"
  FOR EACH ROW WHEN (NEW."status" = 'DESTROYED' AND OLD."status" <> 'DESTROYED') EXECUTE FUNCTION "remove_instance_keys"();
