-- What a form of a template is made from, and what a container keeps of it to be opened by.
ALTER TABLE "template" ADD COLUMN "title" TEXT NOT NULL DEFAULT '',
ADD COLUMN "category" TEXT NOT NULL DEFAULT '',
ADD COLUMN "picture" TEXT NOT NULL DEFAULT 'box',
ADD COLUMN "vram_gb" INTEGER,
ADD COLUMN "port_names" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN "path" TEXT NOT NULL DEFAULT '/',
ADD COLUMN "variables" JSONB NOT NULL DEFAULT '[]';
ALTER TABLE "container" ADD COLUMN "port_names" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN "path" TEXT NOT NULL DEFAULT '/';

-- Values that were made for one instance, sealed as secrets are.
CREATE TABLE "made_token" (
    "instance_id" TEXT NOT NULL,
    "variable" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,

    CONSTRAINT "made_token_pkey" PRIMARY KEY ("instance_id","variable")
);
ALTER TABLE "made_token" ADD CONSTRAINT "made_token_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- They go with the instance, as its SSH keys do.
CREATE FUNCTION "remove_made_tokens"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM made_token WHERE instance_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER "instance_destroyed_tokens" AFTER UPDATE OF "status" ON "instance"
  FOR EACH ROW WHEN (NEW."status" = 'DESTROYED' AND OLD."status" <> 'DESTROYED') EXECUTE FUNCTION "remove_made_tokens"();
