import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express, { type RequestHandler } from 'express';
import { createYoga } from 'graphql-yoga';
import { createGraphiql } from '../../../src/http/graphiql/graphiql.js';
import { buildSchema } from '../../../src/schema/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';

/** Written by `npm run build`. */
export const GRAPHIQL_ASSETS = join(PACKAGE_ROOT, 'dist/graphiql');

export interface GraphiqlServer {
  origin: string;
  close(): Promise<void>;
}

/** Serves GraphiQL with a GraphQL endpoint that needs no database. */
export async function serveGraphiql(assetsDir = GRAPHIQL_ASSETS): Promise<GraphiqlServer> {
  const app = express();
  app.use(createGraphiql({ endpoint: '/graphql', assetsDir }));
  const schema = buildSchema();
  const context = { deps: {}, caller: null, onReplayed() {} };
  app.use(
    '/graphql',
    createYoga({ schema, context, graphiql: false, landingPage: false, logging: false }) as unknown as RequestHandler,
  );
  const listening = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  return {
    origin: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => listening.close(() => resolve())),
  };
}
