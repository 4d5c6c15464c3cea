-- What an account wants on its invoices.
CREATE TABLE "billing_details" (
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "reference" TEXT NOT NULL,

    CONSTRAINT "billing_details_pkey" PRIMARY KEY ("account_id")
);
ALTER TABLE "billing_details" ADD CONSTRAINT "billing_details_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
