// Prisma asks for its schema engine, a separate download, before any command; no command used here runs it.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

import { defineConfig } from 'prisma/config';

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // `prisma migrate deploy` and `prisma studio` read the address from here; `generate` needs none.
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://localhost/gpu_rental_gateway' },
});
