-- What the leases of volumes need beside their number.
-- Its holder's host was given access to the store: what it wrote may be on its way.
ALTER TABLE "volume" ADD COLUMN "lease_opened" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "volume_attachment"
    -- The volume's size at the instance's last start, which its file on the host has.
    ADD COLUMN "size_gb" INTEGER NOT NULL DEFAULT 0,
    -- Why the host's last snapshot failed.
    ADD COLUMN "message" TEXT,
    -- What the instance wrote from then on is lost: its lease ended before it was saved.
    ADD COLUMN "lost_since" TIMESTAMPTZ(0);
