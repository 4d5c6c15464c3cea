CREATE INDEX CONCURRENTLY "machine_host_id_idx" ON "machine"("host_id");
