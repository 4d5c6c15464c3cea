-- All that a filter of an account's history may ask for: it is looked through without reading the instances themselves.
-- CreateIndex
CREATE INDEX CONCURRENTLY "instance_history" ON "instance"("account_id", "sequence", "status", "stop_reason", "gpu", "mode", "created_at");
