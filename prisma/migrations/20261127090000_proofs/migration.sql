-- Hash chains of the ledger entries of each account, the keys that sign documents, and the public log of all chains
-- (docs/proofs.md defines the formats). Triggers write the chains, so that older gateways that still run during an
-- upgrade write them too. Accounts that exist already have no row in account_chain until chain_history has chained
-- their entries.

CREATE TABLE "account_chain" (
    "account_id" TEXT NOT NULL,
    "pseudonym" BYTEA NOT NULL,
    "length" BIGINT NOT NULL DEFAULT 0,
    "head" BYTEA NOT NULL,
    "complete" BOOLEAN NOT NULL DEFAULT true,

    CONSTRAINT "account_chain_pkey" PRIMARY KEY ("account_id")
) WITH (fillfactor = 80);

CREATE TABLE "chain_link" (
    "account_id" TEXT NOT NULL,
    "number" BIGINT NOT NULL,
    "entry_id" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "chain_link_pkey" PRIMARY KEY ("account_id", "number")
);

CREATE TABLE "signing_key" (
    "id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "public_key" BYTEA NOT NULL,
    "sealed" BYTEA NOT NULL,
    "sealing_key_id" TEXT NOT NULL,
    "from" TIMESTAMPTZ(0) NOT NULL,
    "endorsement" BYTEA,

    CONSTRAINT "signing_key_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "log_root" (
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(0) NOT NULL,
    "size" BIGINT NOT NULL,
    "root" BYTEA NOT NULL,
    "previous" BYTEA,
    "key_id" TEXT NOT NULL,
    "signature" BYTEA NOT NULL,
    "pushed_at" TIMESTAMPTZ(0),

    CONSTRAINT "log_root_pkey" PRIMARY KEY ("number")
);

CREATE TABLE "log_leaf" (
    "account_id" TEXT NOT NULL,
    "number" BIGINT NOT NULL,
    "index" BIGINT NOT NULL,

    CONSTRAINT "log_leaf_pkey" PRIMARY KEY ("account_id", "number")
);

CREATE TABLE "log_tile" (
    "level" INTEGER NOT NULL,
    "index" BIGINT NOT NULL,
    "hashes" BYTEA NOT NULL,

    CONSTRAINT "log_tile_pkey" PRIMARY KEY ("level", "index")
);

CREATE UNIQUE INDEX "chain_link_entry_id_key" ON "chain_link"("entry_id");
CREATE UNIQUE INDEX "signing_key_ordinal_key" ON "signing_key"("ordinal");
CREATE UNIQUE INDEX "log_leaf_index_key" ON "log_leaf"("index");

ALTER TABLE "account_chain" ADD CONSTRAINT "account_chain_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "account_chain" ADD CONSTRAINT "account_chain_bounds"
  CHECK ("length" >= 0 AND octet_length("pseudonym") = 32 AND octet_length("head") = 32);

CREATE TRIGGER "chain_link_immutable" BEFORE UPDATE OR DELETE OR TRUNCATE ON "chain_link"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "log_leaf_immutable" BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_leaf"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"();

-- Functions that SQL inlines must not be declared more stable than the functions that they call.
CREATE FUNCTION "json_instant"("instant" timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce('"' || to_char("instant" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '"', 'null')
$$;

-- The canonical form (RFC 8785) of a text. PostgreSQL escapes exactly the characters that it requires.
CREATE FUNCTION "json_text"("value" text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(to_json("value")::text, 'null')
$$;

-- The number of the interval that an entry charges, such as 2 for i-0badcafe/gpu/2.
CREATE FUNCTION "chain_ordinal"("id" text) RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT substring("id" FROM '/([0-9]{1,9})$')::integer
$$;

-- The canonical form of an entry's record. An interval ends at the entry's time. Its own end isn't read, because for
-- volumes it is written after the entry.
CREATE FUNCTION "chain_record"("entry" "ledger_entry") RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
  "charge" text := 'null';
  "volume" text;
BEGIN
  CASE "entry"."kind"
    WHEN 'GPU_USAGE', 'DISK_USAGE' THEN
      SELECT '{"endedAt":' || json_instant("entry"."at") || ',"gpu":' || json_text(i."gpu") || ',"mode":"' || i."mode"
        || '","numGpus":' || i."num_gpus" || ',"rate":"' || used."rate" || '","seconds":'
        || extract(epoch FROM "entry"."at" - used."started_at")::bigint || ',"sizeGb":'
        || CASE used."resource" WHEN 'DISK' THEN i."disk_gb"::text ELSE 'null' END
        || ',"startedAt":' || json_instant(used."started_at") || '}'
      INTO "charge"
      FROM "usage_interval" used JOIN "instance" i ON i."id" = used."instance_id"
      WHERE used."instance_id" = "entry"."instance_id" AND used."ordinal" = chain_ordinal("entry"."id")
        AND used."resource" = (CASE "entry"."kind" WHEN 'GPU_USAGE' THEN 'GPU' ELSE 'DISK' END)::"usage_resource";
    WHEN 'VOLUME_USAGE' THEN
      "volume" := split_part("entry"."id", '/', 1);
      SELECT '{"endedAt":' || json_instant("entry"."at") || ',"gpu":null,"mode":null,"numGpus":null,"rate":"'
        || used."rate" || '","seconds":' || extract(epoch FROM "entry"."at" - used."started_at")::bigint
        || ',"sizeGb":' || used."size_gb" || ',"startedAt":' || json_instant(used."started_at") || '}'
      INTO "charge"
      FROM "volume_interval" used
      WHERE used."volume_id" = "volume" AND used."ordinal" = chain_ordinal("entry"."id");
    WHEN 'EARLY_EXIT', 'PREEMPTION_MINIMUM' THEN
      SELECT '{"endedAt":null,"gpu":' || json_text(i."gpu") || ',"mode":"' || i."mode" || '","numGpus":' || i."num_gpus"
        || ',"rate":"' || locked."rate" || '","seconds":' || coalesce(-"entry"."units" / nullif(locked."rate", 0), 0)
        || ',"sizeGb":null,"startedAt":null}'
      INTO "charge"
      FROM "instance" i CROSS JOIN LATERAL (
        SELECT CASE "entry"."kind" WHEN 'EARLY_EXIT' THEN i."on_demand_rate" - i."gpu_rate" ELSE i."gpu_rate" END AS "rate"
      ) locked
      WHERE i."id" = "entry"."instance_id";
    ELSE NULL;
  END CASE;
  RETURN '{"account":' || json_text("entry"."account_id") || ',"at":' || json_instant("entry"."at") || ',"charge":'
    || coalesce("charge", 'null') || ',"id":' || json_text("entry"."id") || ',"instance":' || json_text("entry"."instance_id")
    || ',"kind":"' || "entry"."kind" || '","note":' || json_text("entry"."note") || ',"reference":'
    || json_text("entry"."reference") || ',"units":"' || "entry"."units" || '","volume":' || json_text("volume") || '}';
END $$;

-- Hash 0 of an account's chain.
CREATE FUNCTION "chain_start"("account" text, "pseudonym" bytea) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to('gpu-rental/chain/v1' || chr(10) || '{"account":' || json_text("account")
    || ',"pseudonym":"' || encode("pseudonym", 'hex') || '"}', 'UTF8'))
$$;

-- The hash of link `number` after the hash `previous`.
CREATE FUNCTION "chain_hash"("number" bigint, "previous" bytea, "entry" "ledger_entry") RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to('gpu-rental/link/v1' || chr(10) || '{"number":' || "number" || ',"previous":"'
    || encode("previous", 'hex') || '","record":' || chain_record("entry") || '}', 'UTF8'))
$$;

-- Appends entries to the account's chain, in the given order.
CREATE FUNCTION "chain_append"("target" text, "entries" "ledger_entry"[]) RETURNS void LANGUAGE plpgsql AS $$
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
  UPDATE "account_chain" SET "length" = "last", "head" = "hash" WHERE "account_id" = "target";
END $$;

-- A new account starts a chain.
CREATE FUNCTION "start_chain"("account" text, "is_complete" boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  "pseudonym" bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
BEGIN
  INSERT INTO "account_chain" ("account_id", "pseudonym", "head", "complete")
  VALUES ("account", "pseudonym", chain_start("account", "pseudonym"), "is_complete") ON CONFLICT DO NOTHING;
END $$;

-- If the account was created in the same statement as entries, their trigger may have run already. Its history is then
-- chained like that of an older account.
CREATE FUNCTION "chain_account"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM start_chain(NEW."id", NOT EXISTS (SELECT FROM "ledger_entry" WHERE "account_id" = NEW."id"));
  RETURN NULL;
END $$;
CREATE TRIGGER "account_chain" AFTER INSERT ON "account" FOR EACH ROW EXECUTE FUNCTION "chain_account"();

CREATE FUNCTION "chain_entries"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM chain_append(c."account_id", "written"."entries")
  FROM (SELECT "account_id", array_agg(ROW("added".*)::"ledger_entry" ORDER BY "at", "id") AS "entries" FROM "added" GROUP BY "account_id") AS "written"
  JOIN "account_chain" c ON c."account_id" = "written"."account_id" AND c."complete";
  RETURN NULL;
END $$;
CREATE TRIGGER "ledger_entry_chain" AFTER INSERT ON "ledger_entry" REFERENCING NEW TABLE AS "added"
  FOR EACH STATEMENT EXECUTE FUNCTION "chain_entries"();

-- Chains up to `batch` older entries of an account that existed before chains did. Returns whether its chain is complete.
-- Entries are still added only near settled_at or later, so all earlier ones are chained without locking the account.
-- The last call locks it, as every writer of entries does, so that the next entry is chained by the trigger. A writer
-- never waits for an incomplete chain, because the trigger skips it.
CREATE FUNCTION "chain_history"("target" text, "batch" integer) RETURNS boolean LANGUAGE plpgsql AS $$
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
  UPDATE "account_chain" SET "complete" = true WHERE "account_id" = "target";
  RETURN true;
END $$;
