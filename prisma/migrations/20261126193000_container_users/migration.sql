-- Whether the host's agent starts containers as the user of a launch, and whether its operator lets them mount FUSE file
-- systems, by its last report. What the host is to run follows from the first; what is offered shows the second.
ALTER TABLE "machine_host" ADD COLUMN "users" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "machine_host" ADD COLUMN "fuse" BOOLEAN NOT NULL DEFAULT false;
CREATE TRIGGER "machine_host_users_changed" AFTER UPDATE OF "users" ON "machine_host"
  FOR EACH ROW WHEN (OLD."users" <> NEW."users") EXECUTE FUNCTION "tell_host"();
CREATE TRIGGER "machine_host_fuse_changed" AFTER UPDATE OF "fuse" ON "machine_host"
  FOR EACH ROW WHEN (OLD."fuse" <> NEW."fuse") EXECUTE FUNCTION "tell_blocks"();
