-- Whether the host's agent starts containers as the user of a launch, and whether its operator lets them mount FUSE file
-- systems, by its last report. The desired state depends on the first; offers show the second.
ALTER TABLE "machine_host" ADD COLUMN "users" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "machine_host" ADD COLUMN "fuse" BOOLEAN NOT NULL DEFAULT false;
CREATE TRIGGER "machine_host_users_changed" AFTER UPDATE OF "users" ON "machine_host"
  FOR EACH ROW WHEN (OLD."users" <> NEW."users") EXECUTE FUNCTION "tell_host"();
CREATE TRIGGER "machine_host_fuse_changed" AFTER UPDATE OF "fuse" ON "machine_host"
  FOR EACH ROW WHEN (OLD."fuse" <> NEW."fuse") EXECUTE FUNCTION "tell_blocks"();
