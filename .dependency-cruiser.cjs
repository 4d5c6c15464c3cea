// The house: imports run one way (docs/architecture.md).
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^(src|prisma)/', pathNot: allowed },
});

/** A folder of the domain: beside its own files it imports the rules, the files all areas share, and these other areas. */
const area = (name, others, comment) =>
  only(
    `domain-area-${name}`,
    `^src/domain/${name}/`,
    `^src/database/|^src/(deadline|package-root)|^src/agent/protocol|^src/domain/[^/]+\\.ts$|^src/domain/(${['rules', name, ...others].join('|')})/`,
    comment,
  );

module.exports = {
  forbidden: [
    only('rules-know-only-rules', '^src/domain/rules/', '^src/domain/rules/', 'rules import nothing but each other'),
    {
      name: 'rules-are-pure',
      comment: 'rules need no package; hashing and the forms of addresses are all that they take from Node',
      severity: 'error',
      from: { path: '^src/domain/rules/' },
      to: { dependencyTypesNot: ['local'], pathNot: '^(node:)?(crypto|net)$' },
    },
    only(
      'domain-knows-rules-and-database',
      '^src/domain/',
      '^src/(domain|database)/|^src/agent/protocol|^src/(deadline|package-root)',
      'domain imports rules, the database and the protocol of host agents',
    ),
    only(
      'payments-know-rules',
      '^src/payments/',
      '^src/payments/|^src/domain/(rules/|top-ups/processor)',
      'an adapter is the port that the domain asks for, in the words of the rules',
    ),
    only(
      'webhooks-know-rules',
      '^src/(webhooks|mail)/',
      '^src/(webhooks|mail)/|^src/domain/(rules/|webhooks/receiver)',
      'an adapter is the port that the domain asks for, in the words of the rules',
    ),
    area('billing', [], 'the ledger and what reads it'),
    area('accounts', ['billing'], 'who pays, and their keys'),
    area('activity', ['billing'], 'who asked for which change'),
    area('webhooks', ['billing'], 'who is told of events, and sending them'),
    area(
      'secrets',
      ['volumes', 'webhooks'],
      'values that launches name, and what encrypts them and the secrets of webhooks',
    ),
    area('volumes', ['accounts', 'billing', 'secrets'], 'disks that outlive machines, and who may write them'),
    area('instances', ['billing', 'secrets', 'volumes'], 'rentals'),
    area(
      'fleet',
      ['billing', 'secrets', 'volumes'],
      'host agents, what ought to run on their machines, and what is given back',
    ),
    area(
      'inventory',
      ['billing', 'instances', 'secrets', 'volumes'],
      'machines and offers; renting the best offer is a rental',
    ),
    area('templates', ['billing', 'instances', 'secrets'], 'launches that accounts keep'),
    area('market', [], 'prices and where they come from'),
    area('top-ups', ['billing'], 'credit paid in cryptocurrency'),
    area('web-ports', ['billing', 'instances', 'secrets'], 'who may visit the web ports of instances'),
    area(
      'updates',
      ['accounts', 'billing', 'fleet', 'instances', 'inventory', 'market', 'top-ups'],
      'what is told as it changes',
    ),
    only('database-knows-itself', '^src/database/', '^src/database/', 'the database layer knows no domain'),
    only(
      'schema-knows-domain',
      '^src/schema/',
      '^src/(schema|domain)/|^src/database/generated/pothos-types',
      'resolvers call the domain; the builder reads the types Prisma generated',
    ),
    only(
      'rest-knows-itself',
      '^src/rest/',
      '^src/rest/|^src/domain/rules/gpu-tier',
      'REST is handed the built schema and knows nothing of the domain but how tiers are spelled',
    ),
    only(
      'http-composes',
      '^src/http/',
      '^src/(http|rest|schema|domain)/|^src/database/faults|^src/agent/protocol',
      'http composes the surfaces',
    ),
    only(
      'metrics-observe',
      '^src/metrics/',
      '^src/(metrics|domain)/|^src/access/tunnels|^src/database/watch-pool|^src/http/(request-log|rate-limit/rate-limit)',
      'metrics look at the parts that count; nothing but the composition root knows of them',
    ),
    only(
      'traces-know-the-tracer',
      '^src/traces/',
      '^src/traces/|^src/http/tracer',
      'spans are made from what they are told; nothing but the composition root knows of them',
    ),
    {
      name: 'figures-stay-outside',
      comment: 'neither metrics nor traces are known to what they observe',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(metrics|traces|compose|main)' },
      to: { path: '^src/(metrics|traces)/|node_modules/(prom-client|@opentelemetry)/' },
    },
    only(
      'access-composes',
      '^src/access/',
      '^src/(access|domain)/|^src/agent/(tunnel-)?protocol|^src/database/(notices|faults)',
      'ways into instances: they use the domain and the tunnels that host agents dial',
    ),
    only(
      'commands-stand-on-the-domain',
      '^src/admin/',
      '^src/(admin|domain)/|^src/(compose|config|system-clock|visible)|^src/database/embedded/(embedded-postgres|backup|restore)',
      'operator commands call the domain',
    ),
    only('client-knows-itself', '^src/client/', '^src/client/', 'the client knows the service by its OpenAPI document'),
    {
      name: 'client-runs-anywhere',
      comment: 'browsers too: no package and nothing of Node',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { dependencyTypesNot: ['local'] },
    },
    only(
      'command-line-stands-on-the-client',
      '^src/cli/',
      '^src/(cli|client|run)/|^src/(package-root|visible)',
      "the renter's command line goes through the client alone",
    ),
    only('runs-stand-on-the-client', '^src/run/', '^src/(run|client)/', 'a run is made of the client and of SSH'),
    only(
      'agent-knows-the-protocol',
      '^src/agent/',
      '^src/agent/|^src/(package-root|log-output|visible|deadline)',
      'the host agent reaches the gateway by HTTP alone',
    ),
    {
      name: 'console-knows-the-protocol',
      comment: 'the console goes through GraphQL as everybody: nothing of the server is in the page',
      severity: 'error',
      from: { path: '^web/' },
      to: { path: '^(src|prisma|test|bench|scripts)/' },
    },
    {
      name: 'console-is-small',
      comment: 'each package that the page loads is named here; gql.tada gives types alone',
      severity: 'error',
      from: { path: '^web/', pathNot: '^web/vite' },
      to: {
        dependencyTypesNot: ['local', 'type-only'],
        pathNot: 'node_modules/(preact|@preact/signals|uqr)/|gql-tada|generated/schema',
      },
    },
    {
      name: 'server-knows-no-page',
      comment: 'the server serves the built page as files',
      severity: 'error',
      from: { path: '^(src|prisma)/' },
      to: { path: '^web/' },
    },
    {
      name: 'prisma-client-has-two-users',
      comment: 'only database and domain touch the Prisma client (Pothos reads through it)',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(database|domain)/' },
      to: { path: '^src/database/generated/client|@prisma/client' },
    },
    {
      name: 'express-stays-in-http',
      comment: 'no transport below the surfaces',
      severity: 'error',
      from: { path: '^src/(domain|database|schema|admin)/' },
      to: { path: 'node_modules/(express|graphql-yoga)' },
    },
    {
      name: 'no-circles',
      comment: 'no import circles',
      severity: 'error',
      from: { pathNot: 'generated' },
      to: { circular: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|^src/database/generated/client' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js'],
    },
  },
};
