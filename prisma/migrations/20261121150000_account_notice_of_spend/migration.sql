-- A destroyed instance may have cost an early exit without changing the burn: its account's spend, and with it the rate
-- tier that gateways remember, is told too. What is asked of the rows is asked in the function: PostgreSQL reads the
-- condition of a trigger anew for each statement, which for a long one costs as much as the update itself.

DROP TRIGGER "account_changed" ON "account";
CREATE OR REPLACE FUNCTION "tell_account"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.burn_rate <> NEW.burn_rate OR OLD.credit_units <> NEW.credit_units OR OLD.live_instances <> NEW.live_instances
    OR OLD.exhausted_at IS DISTINCT FROM NEW.exhausted_at OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at
  THEN
    PERFORM pg_notify('gateway', json_build_object('table', 'account', 'id', NEW.id)::text);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "account_changed" AFTER UPDATE ON "account"
  FOR EACH ROW WHEN (current_setting('gateway.tells', true) IS DISTINCT FROM 'after') EXECUTE FUNCTION "tell_account"();
