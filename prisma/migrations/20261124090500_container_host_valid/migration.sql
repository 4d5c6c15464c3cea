ALTER TABLE "container" VALIDATE CONSTRAINT "container_machine_id_fkey";
