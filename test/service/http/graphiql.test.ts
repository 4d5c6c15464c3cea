import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRAPHIQL_EXAMPLES } from '../../../src/http/graphiql/examples.js';
import { buildSchema } from '../../../src/schema/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { GRAPHIQL_ASSETS, type GraphiqlServer, serveGraphiql } from '../../support/console/graphiql-server.js';

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8';
const BUILD_SCRIPT = join(PACKAGE_ROOT, 'scripts/build-graphiql.mjs');
const NAMES = ['PriceSheet', 'CheapestOffers', 'MyAccount', 'Deploy', 'StopStartDestroy', 'History', 'LiveOffers'];

const schema = buildSchema();

describe('example operations', () => {
  it.each(GRAPHIQL_EXAMPLES.map((example, index) => ({ name: NAMES[index], ...example })))(
    'are valid and have accepted variables: $name',
    ({ name, query, variables = {} }) => {
      const document = parse(query);
      const operation = getOperationAST(document, null);

      expect(validate(schema, document)).toEqual([]);
      expect(operation?.name?.value).toBe(name);
      expect(getVariableValues(schema, operation?.variableDefinitions ?? [], variables).errors).toBeUndefined();
      expect(query).toMatch(/^# /);
    },
  );
});

describe("GraphiQL's server", () => {
  let server: GraphiqlServer;

  beforeAll(async () => {
    server = await serveGraphiql();
  });
  afterAll(() => server?.close());

  const get = (path: string, headers: Record<string, string>) => fetch(server.origin + path, { headers });

  it('serves the page to browsers with a policy that excludes other origins', async () => {
    const response = await get('/graphql', { accept: BROWSER_ACCEPT });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toContain('Accept');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).toMatch(/script-src 'self' 'sha256-[^']+'$/);
    expect(policy).not.toMatch(/https?:|\*/);
    expect(await response.text()).toContain('<title>GPU rental gateway – GraphiQL</title>');
  });

  it.each([
    ['a query in the address', `/graphql?query=${encodeURIComponent('{ __typename }')}`, BROWSER_ACCEPT],
    ['a client that requests JSON', '/graphql', 'application/json'],
    ['a client that accepts anything', '/graphql', '*/*'],
  ])('leaves %s to the GraphQL endpoint', async (_case, path, accept) => {
    const response = await get(path, { accept });

    expect(response.headers.get('content-type')).toMatch(/json/);
  });

  it("serves the page's files compressed and marked as immutable", async () => {
    const page = await (await get('/graphql', { accept: BROWSER_ACCEPT })).text();
    const path = `/${/src="(graphiql\/[^"]+\.js)"/.exec(page)?.[1]}`;

    const compressed = await get(path, { 'accept-encoding': 'gzip' });
    const plain = await get(path, { 'accept-encoding': 'identity' });

    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const response of [compressed, plain]) {
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('vary')).toBe('Accept-Encoding');
    }
    expect(await compressed.text()).toBe(await plain.text());
  });

  it("explains how to build the page if it hasn't been built", async () => {
    const unbuilt = await serveGraphiql(join(GRAPHIQL_ASSETS, 'nowhere'));
    try {
      const response = await fetch(`${unbuilt.origin}/graphql`, { headers: { accept: BROWSER_ACCEPT } });
      expect(response.status).toBe(503);
      expect(await response.text()).toContain('npm run build');
    } finally {
      await unbuilt.close();
    }
  });

  it("doesn't rebuild the page if nothing has changed", async () => {
    const before = await stat(join(GRAPHIQL_ASSETS, 'graphiql.js'));
    await promisify(execFile)(process.execPath, [BUILD_SCRIPT]);
    const after = await stat(join(GRAPHIQL_ASSETS, 'graphiql.js'));

    expect(after.mtimeMs).toBe(before.mtimeMs);
    expect(await readFile(join(GRAPHIQL_ASSETS, 'version'), 'utf8')).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{8}$/);
  });
});
