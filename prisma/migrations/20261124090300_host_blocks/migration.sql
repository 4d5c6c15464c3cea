-- What decides which machines a host is sold as: gateways read the host again.
CREATE FUNCTION "tell_blocks"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'machine', 'ids', json_build_array(NEW.machine_id))::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "machine_host_joined" AFTER INSERT ON "machine_host" FOR EACH ROW EXECUTE FUNCTION "tell_blocks"();
CREATE TRIGGER "machine_host_blocks_changed" AFTER UPDATE OF "protocol", "slices", "gpus", "missing" ON "machine_host"
  FOR EACH ROW WHEN ((OLD.protocol, OLD.slices, OLD.gpus, OLD.missing) IS DISTINCT FROM (NEW.protocol, NEW.slices, NEW.gpus, NEW.missing))
  EXECUTE FUNCTION "tell_blocks"();
