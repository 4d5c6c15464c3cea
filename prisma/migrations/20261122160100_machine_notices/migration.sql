-- A notice holds 8,000 bytes at most: many machines at once are told in several, and very many as "any", after which the
-- gateways read all of them anew in the background.
CREATE OR REPLACE FUNCTION "tell_machines"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ids text[] := ARRAY(SELECT id FROM changed LIMIT 1001);
BEGIN
  IF cardinality(ids) > 1000 THEN
    PERFORM pg_notify('gateway', '{"table":"machine"}');
  ELSE
    FOR place IN 1 .. cardinality(ids) BY 50 LOOP
      PERFORM pg_notify('gateway', json_build_object('table', 'machine', 'ids', ids[place : place + 49])::text);
    END LOOP;
  END IF;
  RETURN NULL;
END $$;
