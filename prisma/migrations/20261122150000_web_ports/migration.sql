-- Which ports of an instance anybody may visit, and what lets a browser in to the others.

-- AlterTable
ALTER TABLE "container" ADD COLUMN "image_ports" INTEGER[] DEFAULT ARRAY[]::INTEGER[];

-- CreateTable
CREATE TABLE "open_port" (
    "instance_id" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "opened_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "open_port_pkey" PRIMARY KEY ("instance_id","port")
);

-- CreateTable
CREATE TABLE "web_pass" (
    "hash" BYTEA NOT NULL,
    "is_link" BOOLEAN NOT NULL,
    "instance_id" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(0) NOT NULL,
    "expires_at" TIMESTAMPTZ(0) NOT NULL,

    CONSTRAINT "web_pass_pkey" PRIMARY KEY ("hash")
);

-- CreateIndex
CREATE INDEX "web_pass_instance_id_created_at_idx" ON "web_pass"("instance_id", "created_at");

-- CreateIndex
CREATE INDEX "web_pass_expires_at_idx" ON "web_pass"("expires_at");

-- AddForeignKey
ALTER TABLE "open_port" ADD CONSTRAINT "open_port_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "web_pass" ADD CONSTRAINT "web_pass_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "web_pass" ADD CONSTRAINT "web_pass_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "open_port" ADD CONSTRAINT "open_port_bounds" CHECK ("port" BETWEEN 1 AND 65535);
ALTER TABLE "web_pass" ADD CONSTRAINT "web_pass_bounds" CHECK ("port" BETWEEN 1 AND 65535 AND "expires_at" > "created_at");

-- What another gateway opened or closed counts here at once.
CREATE FUNCTION "tell_open_port"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', json_build_object('table', 'open_port', 'id', coalesce(NEW.instance_id, OLD.instance_id))::text);
  RETURN NULL;
END $$;
CREATE TRIGGER "open_port_changed" AFTER INSERT OR UPDATE OR DELETE ON "open_port"
  FOR EACH ROW EXECUTE FUNCTION "tell_open_port"();
