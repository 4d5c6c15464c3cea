-- The sweep looks for the few accounts with a deadline that is over.
CREATE INDEX CONCURRENTLY "account_deadline" ON "account" ("deadline_at") WHERE "deadline_at" IS NOT NULL;
