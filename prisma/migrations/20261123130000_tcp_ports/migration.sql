-- Ports of the gateways' own range that lead to ports of instances. A row stays when its instance is destroyed: the port is
-- given to nobody else for a while.
CREATE TABLE "tcp_port" (
    "public_port" INTEGER NOT NULL,
    "instance_id" TEXT NOT NULL,
    "port" INTEGER NOT NULL,

    CONSTRAINT "tcp_port_pkey" PRIMARY KEY ("public_port")
);
CREATE UNIQUE INDEX "tcp_port_instance_id_port_key" ON "tcp_port"("instance_id", "port");
ALTER TABLE "tcp_port" ADD CONSTRAINT "tcp_port_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instance"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "tcp_port" ADD CONSTRAINT "tcp_port_bounds" CHECK ("port" BETWEEN 1 AND 65535 AND "public_port" BETWEEN 1 AND 65535);

-- Every gateway listens for it.
CREATE FUNCTION "tell_tcp_ports"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gateway', '{"table":"tcp_port"}');
  RETURN NULL;
END $$;
CREATE TRIGGER "tcp_ports_changed" AFTER INSERT OR UPDATE OR DELETE ON "tcp_port"
  FOR EACH STATEMENT EXECUTE FUNCTION "tell_tcp_ports"();
