-- A reference names one payment among those of all accounts: it is looked up without an account.
-- CreateIndex
CREATE INDEX CONCURRENTLY "ledger_entry_reference_idx" ON "ledger_entry"("reference");
