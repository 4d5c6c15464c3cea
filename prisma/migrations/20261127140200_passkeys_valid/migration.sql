ALTER TABLE "console_session" VALIDATE CONSTRAINT "console_session_passkey_id_fkey";
