ALTER TABLE "container" ADD CONSTRAINT "container_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machine"("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;
