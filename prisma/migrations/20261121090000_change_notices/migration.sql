-- What changed is told to every gateway on the channel "gateway" when the transaction commits: a JSON object with
-- "table" and what tells the row. Also what another program writes is told. Transactions that tell something commit one
-- after the other, so a gateway tells of its own rentals after they are committed, and says so by "gateway.tells".

CREATE FUNCTION "tell_instance"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object(
    'table', 'instance', 'id', NEW.id, 'account', NEW.account_id, 'machine', NEW.machine_id)::text);
  RETURN NULL;
END $$;
-- Nobody waits for an instance that is over when it is first written.
CREATE TRIGGER "instance_begun" AFTER INSERT ON "instance"
  FOR EACH ROW WHEN (NEW.status <> 'DESTROYED' AND current_setting('gateway.tells', true) IS DISTINCT FROM 'after')
  EXECUTE FUNCTION "tell_instance"();
CREATE TRIGGER "instance_changed" AFTER UPDATE ON "instance"
  FOR EACH ROW WHEN (current_setting('gateway.tells', true) IS DISTINCT FROM 'after') EXECUTE FUNCTION "tell_instance"();

CREATE FUNCTION "tell_account"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object(
    'table', 'account', 'id', NEW.id)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "account_changed" AFTER UPDATE ON "account"
  FOR EACH ROW WHEN (current_setting('gateway.tells', true) IS DISTINCT FROM 'after' AND (
    OLD.burn_rate <> NEW.burn_rate OR OLD.credit_units <> NEW.credit_units
    OR OLD.exhausted_at IS DISTINCT FROM NEW.exhausted_at OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at))
  EXECUTE FUNCTION "tell_account"();

CREATE FUNCTION "tell_api_key"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'api_key', 'id', OLD.id)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "api_key_revoked" AFTER UPDATE ON "api_key"
  FOR EACH ROW WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION "tell_api_key"();
CREATE TRIGGER "api_key_removed" AFTER DELETE ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "tell_api_key"();

-- A notice holds 8,000 bytes at most: many machines at once are told as "any".
CREATE FUNCTION "tell_machines"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ids text[] := ARRAY(SELECT id FROM changed LIMIT 51);
BEGIN
  IF cardinality(ids) > 50 THEN
    PERFORM pg_notify('gateway', '{"table":"machine"}');
  ELSIF cardinality(ids) > 0 THEN
    PERFORM pg_notify('gateway', json_build_object('table', 'machine', 'ids', ids)::text);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "machine_inserted" AFTER INSERT ON "machine" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_machines"();
CREATE TRIGGER "machine_updated" AFTER UPDATE ON "machine" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_machines"();
CREATE TRIGGER "machine_deleted" AFTER DELETE ON "machine" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_machines"();

CREATE FUNCTION "tell_catalogue"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', '{"table":"catalogue"}');
  RETURN NULL;
END $$;
CREATE TRIGGER "gpu_model_changed" AFTER INSERT OR UPDATE OR DELETE ON "gpu_model"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_catalogue"();
CREATE TRIGGER "region_changed" AFTER INSERT OR UPDATE OR DELETE ON "region"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_catalogue"();
CREATE TRIGGER "template_changed" AFTER INSERT OR UPDATE OR DELETE ON "template"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_catalogue"();
CREATE TRIGGER "market_snapshot_changed" AFTER INSERT OR UPDATE OR DELETE ON "market_snapshot"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_catalogue"();
CREATE TRIGGER "gpu_price_changed" AFTER INSERT OR UPDATE OR DELETE ON "gpu_price"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_catalogue"();
