// The layers: imports go in one direction only (docs/architecture.md).
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^(src|prisma)/', pathNot: allowed },
});

/** An area of the domain: it imports its own files, the kernel, and these other areas. */
const area = (name, others, comment) =>
  only(
    `domain-area-${name}`,
    `^src/domain/${name}/`,
    `^src/(database|std|agent-protocol)/|^src/domain/(${['kernel', name, ...others].join('|')})/`,
    comment,
  );

const RULES = '^src/domain/[^/]+/rules/';
/** The kernel's files that aren't rules: they read files, write rows or run in the background. */
const NOT_RULES = '^src/domain/kernel/(activity-note|background|csv|deps|fields?|import|outbox)\\.ts$';

module.exports = {
  forbidden: [
    only(
      'kernel-knows-no-area',
      '^src/domain/kernel/',
      '^src/domain/kernel/|^src/database/|^src/std/|^src/agent-protocol/limits',
      'every area uses the kernel, so it uses none of them',
    ),
    {
      name: 'rules-are-pure',
      comment:
        'rules import other rules of their area, the kernel, the limits of host agents and addresses, and from Node only hashing and address parsing, and the canonical form of JSON',
      severity: 'error',
      from: { path: [RULES, '^src/domain/kernel/'], pathNot: NOT_RULES },
      to: {
        path: '^src/|node_modules/|^[a-z]',
        // The host agent uses the same networks, so they are in std. They and `required` are as pure as a rule.
        pathNot: [
          '^src/domain/kernel/',
          RULES,
          '^src/(agent-protocol/limits|std/(networks|required))',
          '^(node:)?(crypto|net)$',
          'node_modules/canonicalize/',
        ],
      },
    },
    {
      name: 'rules-use-no-other-rules-than-kernel',
      comment: 'a rule that several areas use belongs in the kernel',
      severity: 'error',
      from: { path: '^src/domain/([^/]+)/rules/' },
      to: { path: RULES, pathNot: '^src/domain/$1/' },
    },
    only(
      'domain-knows-database',
      '^src/domain/',
      '^src/(domain|database|std|agent-protocol)/',
      'the domain imports the database and the protocol of host agents',
    ),
    only(
      'payments-know-rules',
      '^src/payments/',
      '^src/(payments|std)/|^src/domain/(kernel/|top-ups/(rules/|processor))',
      'an adapter implements the port that the domain defines, in terms of the rules',
    ),
    only(
      'webhooks-know-rules',
      '^src/(webhooks|mail)/',
      '^src/(webhooks|mail|std)/|^src/domain/(kernel/|webhooks/(rules/|receiver))',
      'an adapter implements the port that the domain defines, in terms of the rules',
    ),
    only(
      'model-hubs-know-their-port',
      '^src/hub/',
      '^src/(hub|std)/|^src/domain/(kernel/|models/hub)',
      'an adapter implements the port that the domain defines',
    ),
    only(
      'volume-stores-know-their-port',
      '^src/volumes/',
      '^src/volumes/|^src/domain/volumes/(store|restic)',
      'an adapter implements the port that the domain defines',
    ),
    area('billing', [], 'the ledger and its readers'),
    area('accounts', ['billing'], 'paying accounts and their keys'),
    area('activity', ['billing'], 'the record of who requested which change'),
    area('webhooks', ['billing'], 'receivers of events, and their delivery'),
    area('proof', ['billing', 'secrets'], 'signing keys, signed statements, invoices and the public log'),
    area(
      'secrets',
      ['billing', 'proof', 'volumes', 'webhooks'],
      'values that launches refer to, and the encryption of these and of webhook secrets',
    ),
    area('volumes', ['accounts', 'billing', 'secrets'], 'disks that outlive machines, and their leases'),
    area('instances', ['billing', 'secrets', 'volumes'], 'rentals'),
    area('models', ['inventory'], 'the memory that models need'),
    area('samples', ['billing'], 'measurements of instances by their host agents'),
    area(
      'fleet',
      ['billing', 'inventory', 'samples', 'secrets', 'volumes'],
      'host agents, the desired state of their machines, and service credits',
    ),
    area(
      'inventory',
      ['billing', 'instances', 'secrets', 'volumes'],
      'machines and offers; deploying the best offer is a rental',
    ),
    area('templates', ['billing', 'instances', 'secrets'], 'launches that accounts store'),
    area('market', ['inventory'], 'prices and their sources'),
    area('top-ups', ['billing'], 'credit paid in cryptocurrency'),
    area('web-ports', ['billing', 'instances', 'secrets'], 'access to the web ports of instances'),
    area(
      'updates',
      ['accounts', 'billing', 'fleet', 'instances', 'inventory', 'market', 'samples', 'top-ups'],
      'events for subscribers',
    ),
    only('database-knows-itself', '^src/database/', '^src/database/', 'the database layer does not use the domain'),
    only(
      'schema-knows-domain',
      '^src/schema/',
      '^src/(schema|domain|std)/|^src/database/generated/pothos-types',
      'resolvers call the domain; the builder reads the types generated by Prisma',
    ),
    only(
      'rest-knows-itself',
      '^src/rest/',
      '^src/(rest|std)/|^src/domain/(kernel/(gpu-tier|input-fault)|instances/fields)',
      "REST receives the built schema and uses only the spelling of tiers, input faults and the list of a rental's terms from the domain",
    ),
    only(
      'http-composes',
      '^src/http/',
      '^src/(http|rest|schema|domain|std|agent-protocol)/|^src/database/(faults|database-state)',
      'http composes the surfaces',
    ),
    only(
      'metrics-observe',
      '^src/metrics/',
      '^src/(metrics|domain|std)/|^src/access/tunnels|^src/database/(only|snapshot|watch-pool)|^src/http/(request-log|rate-limit/rate-limit)',
      'metrics read the observed parts; only the composition root uses metrics',
    ),
    only(
      'traces-know-the-tracer',
      '^src/traces/',
      '^src/traces/|^src/http/tracer',
      'spans are made from events of the tracer; only the composition root uses traces',
    ),
    {
      name: 'figures-stay-outside',
      comment: 'observed code does not use metrics or traces',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(metrics|traces|compose|main)' },
      to: { path: '^src/(metrics|traces)/|node_modules/(prom-client|@opentelemetry)/' },
    },
    only(
      'access-composes',
      '^src/access/',
      '^src/(access|domain|std|agent-protocol)/|^src/database/(notices|faults)',
      'access to instances: it uses the domain and the tunnels that host agents dial',
    ),
    only(
      'commands-use-the-domain',
      '^src/admin/',
      '^src/(admin|domain|std|compose)/|^src/database/(database\\.ts|faults|embedded/(embedded-postgres|backup|restore)|move/move)',
      'operator commands call the domain',
    ),
    only(
      'client-knows-itself',
      '^src/client/',
      '^src/client/',
      'the client uses the service only by its OpenAPI document',
    ),
    {
      name: 'client-runs-anywhere',
      comment: 'also in browsers: no package and nothing of Node',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { dependencyTypesNot: ['local'] },
    },
    only(
      'command-line-uses-the-client',
      '^src/cli/',
      '^src/(cli|client|run|std|verify)/',
      "the renter's command line uses only the client and the verifier",
    ),
    only('verifier-knows-itself', '^src/verify/', '^src/verify/', 'the verifier knows the documents, not the service'),
    {
      name: 'verifier-runs-anywhere',
      comment: 'also in browsers: only its hash and signature packages, and nothing of Node',
      severity: 'error',
      from: { path: '^src/verify/' },
      to: { dependencyTypesNot: ['local'], pathNot: 'node_modules/@noble/(curves|hashes)/' },
    },
    only('runs-use-the-client', '^src/run/', '^src/(run|client)/', 'a run uses the client and SSH'),
    only(
      'agent-knows-the-protocol',
      '^src/agent/',
      '^src/(agent|agent-protocol|std)/|^src/logging/log-output',
      'the host agent uses the gateway only by HTTP',
    ),
    {
      name: 'console-knows-the-protocol',
      comment: 'the console uses GraphQL like any client: the page contains nothing of the server, only the verifier',
      severity: 'error',
      from: { path: '^web/' },
      to: { path: '^(src|prisma|test|bench|scripts)/', pathNot: '^src/verify/' },
    },
    {
      name: 'console-is-small',
      comment: 'every package that the page loads is listed here; gql.tada provides only types',
      severity: 'error',
      from: { path: '^web/', pathNot: '^web/(vite|build/)' },
      to: {
        dependencyTypesNot: ['local', 'type-only'],
        pathNot: 'node_modules/(uplot|preact|@preact/signals|uqr|@xterm/(xterm|addon-fit))/|gql-tada|generated/schema',
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
