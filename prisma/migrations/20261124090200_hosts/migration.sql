CREATE INDEX CONCURRENTLY "machine_hosts" ON "machine"("id") WHERE "host_id" = "id";
