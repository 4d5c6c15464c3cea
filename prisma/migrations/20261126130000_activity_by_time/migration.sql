CREATE INDEX CONCURRENTLY "activity_account_at" ON "activity"("account_id", "at");
