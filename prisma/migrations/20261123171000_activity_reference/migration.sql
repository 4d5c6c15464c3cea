-- Accounts are never deleted, and a reference would be checked with each row that is written.
ALTER TABLE "activity" DROP CONSTRAINT "activity_account_id_fkey";
