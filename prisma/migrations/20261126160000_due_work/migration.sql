-- Gateways look for due work only when some is known to be due (src/domain/background.ts), so each write that makes something
-- due earlier sends a notice: "due_work", unless it sends another one already. A gateway announces its own rentals and
-- deliveries after they are committed ("gateway.tells"); all else is rare enough to be announced by the commit.

CREATE FUNCTION "tell_due_work"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', '{"table":"due_work"}');
  RETURN NULL;
END $$;

-- A monthly limit changes when an account falls due, and nothing else of it.
CREATE OR REPLACE FUNCTION "tell_account"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.burn_rate <> NEW.burn_rate OR OLD.credit_units <> NEW.credit_units OR OLD.live_instances <> NEW.live_instances
    OR OLD.exhausted_at IS DISTINCT FROM NEW.exhausted_at OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at
    OR OLD.due_at IS DISTINCT FROM NEW.due_at OR OLD.deadline_at IS DISTINCT FROM NEW.deadline_at
  THEN
    PERFORM pg_notify('gateway', json_build_object('table', 'account', 'id', NEW.id)::text);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION "tell_webhook"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.paused_at IS DISTINCT FROM NEW.paused_at OR OLD.confirmed_at IS DISTINCT FROM NEW.confirmed_at
    OR OLD.events IS DISTINCT FROM NEW.events
    OR (current_setting('gateway.tells', true) IS DISTINCT FROM 'after' AND (
      OLD.wait_until IS DISTINCT FROM NEW.wait_until OR OLD.leased_until IS DISTINCT FROM NEW.leased_until))
  THEN
    PERFORM pg_notify('gateway', '{"table":"due_work"}');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "webhook_made" AFTER INSERT ON "webhook" FOR EACH ROW EXECUTE FUNCTION "tell_due_work"();
CREATE TRIGGER "webhook_changed" AFTER UPDATE ON "webhook" FOR EACH ROW EXECUTE FUNCTION "tell_webhook"();
CREATE TRIGGER "balance_notice_set" AFTER INSERT OR UPDATE ON "balance_notice"
  FOR EACH ROW EXECUTE FUNCTION "tell_due_work"();

CREATE FUNCTION "tell_deliveries"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('gateway.tells', true) IS DISTINCT FROM 'after' THEN
    PERFORM pg_notify('gateway', '{"table":"due_work"}');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "webhook_delivery_waits" AFTER INSERT OR UPDATE OF "is_pending", "next_at" ON "webhook_delivery"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_deliveries"();

CREATE TRIGGER "console_session_begun" AFTER INSERT ON "console_session"
  FOR EACH ROW EXECUTE FUNCTION "tell_due_work"();
CREATE TRIGGER "api_key_expires" AFTER INSERT ON "api_key"
  FOR EACH ROW WHEN (NEW.expires_at IS NOT NULL) EXECUTE FUNCTION "tell_due_work"();
CREATE TRIGGER "api_key_expiry_changed" AFTER UPDATE OF "expires_at" ON "api_key"
  FOR EACH ROW EXECUTE FUNCTION "tell_due_work"();
