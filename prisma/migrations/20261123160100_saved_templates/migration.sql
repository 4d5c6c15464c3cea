-- Launches that an account keeps under a name.
CREATE TABLE "saved_template" (
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "template" TEXT NOT NULL,
    "disk_gb" INTEGER NOT NULL,
    "launch" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "saved_template_pkey" PRIMARY KEY ("account_id","name")
);
ALTER TABLE "saved_template" ADD CONSTRAINT "saved_template_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
