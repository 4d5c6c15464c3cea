-- The few containers whose command has ended for good are looked for all the time.
CREATE INDEX CONCURRENTLY "container_exited" ON "container" ("instance_id") WHERE "phase" = 'EXITED';
