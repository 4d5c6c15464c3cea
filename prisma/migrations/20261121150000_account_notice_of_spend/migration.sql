-- A destroyed instance may have cost an early exit without changing the burn: its account's spend, and with it the rate
-- tier that gateways remember, is told too.

DROP TRIGGER "account_changed" ON "account";
CREATE TRIGGER "account_changed" AFTER UPDATE ON "account"
  FOR EACH ROW WHEN (current_setting('gateway.tells', true) IS DISTINCT FROM 'after' AND (
    OLD.burn_rate <> NEW.burn_rate OR OLD.credit_units <> NEW.credit_units OR OLD.live_instances <> NEW.live_instances
    OR OLD.exhausted_at IS DISTINCT FROM NEW.exhausted_at OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at))
  EXECUTE FUNCTION "tell_account"();
