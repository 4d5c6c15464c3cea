-- What the schema language can't say: rules that hold even against a faulty program.

-- A machine has at most one running instance.
CREATE UNIQUE INDEX "instance_running_on_machine" ON "instance" ("machine_id") WHERE "status" = 'RUNNING';
-- The live few among many past instances: those on a machine, those of an account.
CREATE INDEX "instance_live_on_machine" ON "instance" ("machine_id") WHERE "status" <> 'DESTROYED';
CREATE INDEX "instance_live_of_account" ON "instance" ("account_id", "sequence") WHERE "status" <> 'DESTROYED';
-- A resource of an instance is charged by one interval at a time.
CREATE UNIQUE INDEX "usage_interval_open" ON "usage_interval" ("instance_id", "resource") WHERE "ended_at" IS NULL;

ALTER TABLE "machine"
  ADD CONSTRAINT "machine_bounds" CHECK ("num_gpus" BETWEEN 1 AND 8 AND "vcpus" > 0 AND "ram_gb" > 0 AND "disk_gb" > 0
    AND "net_down_mbps" >= 0 AND "net_up_mbps" >= 0 AND "ports" >= 0 AND "pcie" > 0 AND "reliability" BETWEEN 0 AND 1);
ALTER TABLE "gpu_price"
  ADD CONSTRAINT "gpu_price_bounds" CHECK ("on_demand_rate" > 0 AND "median_micro" >= 0 AND "listings" >= 0);
ALTER TABLE "account"
  ADD CONSTRAINT "account_bounds" CHECK ("spend_units" >= "month_start_spend_units" AND "month_start_spend_units" >= 0
    AND "burn_rate" >= 0 AND "live_instances" BETWEEN 0 AND 1000 AND "deployed_instances" >= "live_instances");
ALTER TABLE "instance"
  ADD CONSTRAINT "instance_id_form" CHECK ("id" ~ '^i-[a-f0-9]{8}$'),
  ADD CONSTRAINT "instance_bounds" CHECK ("disk_gb" > 0 AND "gpu_rate" >= 0 AND "disk_rate" >= 0
    AND "gpu_seconds" >= 0 AND "early_exit_units" >= 0),
  ADD CONSTRAINT "instance_state" CHECK (("status" = 'RUNNING') = ("running_since" IS NOT NULL)
    AND ("status" = 'RUNNING') = ("stopped_at" IS NULL) AND ("status" = 'DESTROYED') = ("destroyed_at" IS NOT NULL));
ALTER TABLE "usage_interval"
  ADD CONSTRAINT "usage_interval_order" CHECK ("ended_at" >= "started_at" AND "rate" >= 0);
ALTER TABLE "ledger_entry"
  ADD CONSTRAINT "ledger_entry_sign" CHECK (CASE "kind" WHEN 'CREDIT' THEN "units" > 0 WHEN 'ADJUSTMENT' THEN "units" <> 0 ELSE "units" <= 0 END);

CREATE FUNCTION "refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is immutable: book an adjustment instead', TG_TABLE_NAME;
END $$;
CREATE TRIGGER "ledger_entry_immutable" BEFORE UPDATE OR DELETE OR TRUNCATE ON "ledger_entry"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();
