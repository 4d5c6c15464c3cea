CREATE INDEX CONCURRENTLY "console_session_passkey_id_idx" ON "console_session"("passkey_id");
