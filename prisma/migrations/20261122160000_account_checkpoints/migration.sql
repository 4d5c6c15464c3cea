-- CreateTable
CREATE TABLE "account_checkpoint" (
    "account_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(0) NOT NULL,
    "sequence" INTEGER NOT NULL,
    "spend_units" BIGINT NOT NULL,
    "credit_units" BIGINT NOT NULL,
    "open_instances" TEXT[],

    CONSTRAINT "account_checkpoint_pkey" PRIMARY KEY ("account_id","at")
);

-- AddForeignKey
ALTER TABLE "account_checkpoint" ADD CONSTRAINT "account_checkpoint_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
