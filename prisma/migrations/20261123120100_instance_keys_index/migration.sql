CREATE INDEX CONCURRENTLY "ssh_key_instance_id_idx" ON "ssh_key"("instance_id");
