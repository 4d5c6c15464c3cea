-- When an instance stops or is destroyed by itself, and the first such second of an account.
ALTER TYPE "stop_reason" ADD VALUE 'DEADLINE';
ALTER TABLE "instance" ADD COLUMN "stop_at" TIMESTAMPTZ(0), ADD COLUMN "destroy_at" TIMESTAMPTZ(0);
ALTER TABLE "account" ADD COLUMN "deadline_at" TIMESTAMPTZ(0);
