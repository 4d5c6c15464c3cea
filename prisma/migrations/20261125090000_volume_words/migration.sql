-- Volumes in the ledger, and what a container does for them.
ALTER TYPE "ledger_kind" ADD VALUE 'VOLUME_USAGE';
ALTER TYPE "container_phase" ADD VALUE 'RESTORING';
ALTER TYPE "container_phase" ADD VALUE 'SAVING';
