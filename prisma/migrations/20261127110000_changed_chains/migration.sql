-- The transaction that last changed an account's chain, and the snapshot of the chains in each root of the public log,
-- so that the next root reads only the chains that have changed since (src/domain/proof/tiles.ts). Chains that exist
-- already need no transaction, because no root has a snapshot yet.

ALTER TABLE "account_chain" ADD COLUMN "changed_in" xid8 NOT NULL DEFAULT '0';
ALTER TABLE "account_chain" ALTER COLUMN "changed_in" SET DEFAULT pg_current_xact_id();
ALTER TABLE "log_root" ADD COLUMN "snapshot" pg_snapshot, ADD COLUMN "cluster" BIGINT;

CREATE OR REPLACE FUNCTION "chain_append"("target" text, "entries" "ledger_entry"[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  "last" bigint;
  "hash" bytea;
  "entry" "ledger_entry";
BEGIN
  SELECT "length", "head" INTO STRICT "last", "hash" FROM "account_chain" WHERE "account_id" = "target" FOR UPDATE;
  FOREACH "entry" IN ARRAY "entries" LOOP
    "last" := "last" + 1;
    "hash" := chain_hash("last", "hash", "entry");
    INSERT INTO "chain_link" VALUES ("target", "last", "entry"."id", "hash");
  END LOOP;
  UPDATE "account_chain" SET "length" = "last", "head" = "hash", "changed_in" = pg_current_xact_id()
    WHERE "account_id" = "target";
END $$;

CREATE OR REPLACE FUNCTION "chain_history"("target" text, "batch" integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  "chain" "account_chain";
  "last" "ledger_entry";
  "final_before" timestamptz;
  "entries" "ledger_entry"[];
BEGIN
  PERFORM start_chain("target", false);
  SELECT * INTO STRICT "chain" FROM "account_chain" WHERE "account_id" = "target" FOR UPDATE;
  IF "chain"."complete" THEN RETURN true; END IF;
  SELECT e.* INTO "last" FROM "chain_link" l JOIN "ledger_entry" e ON e."id" = l."entry_id"
    WHERE l."account_id" = "target" AND l."number" = "chain"."length";
  SELECT "settled_at" - interval '1 minute' INTO STRICT "final_before" FROM "account" WHERE "id" = "target";
  SELECT array_agg("e" ORDER BY ("e")."at", ("e")."id") INTO "entries" FROM (
    SELECT "ledger_entry" AS "e" FROM "ledger_entry" WHERE "account_id" = "target" AND "at" < "final_before"
      AND ("at", "id") > (coalesce("last"."at", '-infinity'), coalesce("last"."id", ''))
    ORDER BY "at", "id" LIMIT "batch"
  ) AS oldest;
  IF cardinality("entries") = "batch" THEN
    PERFORM chain_append("target", "entries");
    RETURN false;
  END IF;
  PERFORM FROM "account" WHERE "id" = "target" FOR UPDATE;
  SELECT array_agg(e ORDER BY e."at", e."id") INTO "entries" FROM "ledger_entry" e WHERE "account_id" = "target"
    AND ("at", "id") > (coalesce("last"."at", '-infinity'), coalesce("last"."id", ''));
  -- An entry that was added with an earlier time in the meantime must not be left out.
  IF (SELECT count(*) FROM "ledger_entry" WHERE "account_id" = "target")
    <> "chain"."length" + coalesce(cardinality("entries"), 0) THEN
    SELECT array_agg(e ORDER BY e."at", e."id") INTO "entries" FROM "ledger_entry" e
      WHERE "account_id" = "target" AND NOT EXISTS (SELECT FROM "chain_link" WHERE "entry_id" = e."id");
  END IF;
  IF "entries" IS NOT NULL THEN PERFORM chain_append("target", "entries"); END IF;
  UPDATE "account_chain" SET "complete" = true, "changed_in" = pg_current_xact_id() WHERE "account_id" = "target";
  RETURN true;
END $$;
