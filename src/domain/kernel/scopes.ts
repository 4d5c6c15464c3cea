import { DomainError } from './errors.js';

/** The permissions that an API key can have. A key without a list of scopes has all of them. */
export const SCOPES = ['read', 'rent', 'access', 'money', 'keys'] as const;
export type Scope = (typeof SCOPES)[number];

export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  read: 'read everything in the account except logs, instance links, volume passwords and secret values',
  rent: 'rent, start, stop and destroy instances, set their deadlines and spend limits, and manage volumes and saved templates',
  access: 'connect to instances: SSH keys, terminals, files, web links, open ports, logs, secrets',
  money: 'make top-ups, set the monthly limit and change billing details',
  keys: 'create, limit and revoke API keys and passkeys, and configure notifications',
};

/** Marks operations that need no key, or that check another entry's scope for part of their response. */
export const PUBLIC = 'public';

/**
 * The scope required for each operation, keyed by its root field in GraphQL. REST, the console, the command line and
 * MCP use the same scopes. Operations without a root field have their own names. The gateway doesn't start if the
 * schema has a field that is missing here.
 */
export const OPERATION_SCOPES: Readonly<Record<string, Scope | typeof PUBLIC>> = {
  'Query.gpuModel': PUBLIC,
  'Query.gpuModels': PUBLIC,
  'Query.logConsistency': PUBLIC,
  'Query.logRoots': PUBLIC,
  'Query.modelHub': PUBLIC,
  'Query.modelMemory': PUBLIC,
  'Query.node': PUBLIC,
  'Query.offer': PUBLIC,
  'Query.offerSearch': PUBLIC,
  'Query.offers': PUBLIC,
  'Query.pricing': PUBLIC,
  'Query.quote': PUBLIC,
  'Query.regions': PUBLIC,
  'Query.sendsMail': PUBLIC,
  'Query.signingKeys': PUBLIC,
  'Query.templates': PUBLIC,
  'Subscription.offersChanged': PUBLIC,
  'Subscription.pricingChanged': PUBLIC,

  'Query.account': 'read',
  'Query.activity': 'read',
  'Query.apiKeys': 'read',
  'Query.passkeys': 'read',
  'Query.balance': 'read',
  'Query.instance': 'read',
  'Query.instanceHistory': 'read',
  'Query.instanceByIdempotencyKey': 'read',
  'Query.instanceOfRequest': 'read',
  'Query.instances': 'read',
  'Query.logInclusion': 'read',
  'Query.myTemplates': 'read',
  'Query.secrets': 'read',
  'Query.signedStatement': 'read',
  'Query.spendByDay': 'read',
  'Query.sshKeys': 'read',
  'Query.statement': 'read',
  'Query.invoice': 'read',
  'Query.billingDetails': 'read',
  'Query.focusExport': 'read',
  'Query.topUp': 'read',
  'Query.topUpAssets': 'read',
  'Query.topUps': 'read',
  'Query.volume': 'read',
  'Query.volumes': 'read',
  'Query.balanceNotice': 'read',
  'Query.mailAddress': 'read',
  'Query.webhooks': 'read',
  'Subscription.accountChanged': 'read',
  'Subscription.balanceChanged': 'read',
  'Subscription.instanceChanged': 'read',
  'Subscription.topUpChanged': 'read',
  /** The parts of `node` and `quote` that concern a specific account. */
  'node of an account': 'read',
  'quote for an account': 'read',
  /** restic's reads under `/volumes`. No data can be decrypted without the repository's password. */
  'read the repository of a volume': 'read',

  'Mutation.action': 'rent',
  'Mutation.deploy': 'rent',
  'Mutation.deployBest': 'rent',
  'Mutation.setDeadlines': 'rent',
  'Mutation.saveTemplate': 'rent',
  'Mutation.deleteTemplate': 'rent',
  'Mutation.setSpendLimit': 'rent',
  'Mutation.setLabels': 'rent',
  'Mutation.setStopWhenIdle': 'rent',
  'Mutation.moveInstance': 'rent',
  'Mutation.releaseVolume': 'rent',
  'Mutation.createVolume': 'rent',
  'Mutation.growVolume': 'rent',
  'Mutation.deleteVolume': 'rent',
  // Any key with the `rent` scope can already read the contents of an instance's volumes.
  'Query.volumePassword': 'rent',
  'write to the repository of a volume': 'rent',

  // Logs are included because programs may print tokens and passwords.
  'Query.instanceLogs': 'access',
  'Query.instanceLinks': 'access',
  'Subscription.instanceLogged': 'access',
  'Mutation.addSshKey': 'access',
  'Mutation.removeSshKey': 'access',
  'Mutation.openPort': 'access',
  'Mutation.closePort': 'access',
  'Mutation.webLink': 'access',
  'Mutation.webToken': 'access',
  /** Listing, uploading and downloading a container's files in the console. */
  'files of an instance': 'access',
  'Mutation.createSecret': 'access',
  'Mutation.deleteSecret': 'access',
  'terminal in a browser': 'access',
  // A key that can choose the workload can also read the workload's secrets.
  'launch with secrets': 'access',

  'Mutation.createTopUp': 'money',
  'Mutation.setMonthlyLimit': 'money',
  'Mutation.setBillingDetails': 'money',

  // A webhook keeps receiving events after the key that created it has been revoked.
  'Mutation.createWebhook': 'keys',
  'Mutation.changeWebhook': 'keys',
  'Mutation.rotateWebhookSecret': 'keys',
  'Mutation.turnWebhookSecret': 'keys',
  'Mutation.deleteWebhook': 'keys',
  'Mutation.testWebhook': 'keys',
  'Mutation.redeliver': 'keys',
  'Mutation.setMailAddress': 'keys',
  'Mutation.deleteMailAddress': 'keys',
  'Mutation.testMailAddress': 'keys',
  'Mutation.setBalanceNotice': 'keys',
  'Mutation.createApiKey': 'keys',
  'Mutation.revokeApiKey': 'keys',
  'Mutation.setApiKeyLimit': 'keys',
  'Mutation.revokePasskey': 'keys',
  /** In a browser, in the console's session. */
  'create a passkey': 'keys',
};

/**
 * For each type, the fields in a write's response that reveal more than what the write did. A key without the `read`
 * scope can't select them. A new instance's own fields, such as its price and ports, count as part of what the write
 * did.
 */
export const FIELDS_BEYOND_WRITE: Readonly<Record<string, readonly string[]>> = {
  Account: [
    ...['balance', 'burnPerHour', 'lifetimeSpend', 'monthSpend', 'exhaustsAt', 'diskDeleteAt', 'liveInstances'],
    'pendingTopUps',
    'topUpsUnderWay',
  ],
  ApiKey: ['monthSpend'],
  Instance: ['balance', 'launch', 'timeline', 'metrics', 'load', 'usageIntervals'],
  Volume: ['snapshots'],
  Webhook: ['attempts', 'deliveries'],
};

/** Throws forbidden for the first field in a write's response that a key without the `read` scope can't select. */
export function checkWriteResponse(scopes: Scopes, fields: Iterable<readonly [type: string, field: string]>): void {
  if (scopes === null || scopes.includes('read')) return;
  for (const [type, field] of fields) {
    if (!FIELDS_BEYOND_WRITE[type]?.includes(field)) continue;
    const message = `the API key lacks the scope read, which ${type}.${field} in the response needs; nothing was done`;
    throw new DomainError('forbidden', message, { scope: 'read' });
  }
}

/** Returns the scope required for an operation. Throws if there is none, in which case the gateway doesn't start. */
export function scopeOf(operation: string): Scope | typeof PUBLIC {
  const scope = OPERATION_SCOPES[operation];
  if (scope === undefined) throw new Error(`the operation ${operation} has no scope: see src/domain/kernel/scopes.ts`);
  return scope;
}

/** A key's permissions, or null for all of them. */
export type Scopes = readonly Scope[] | null;

export function mayDo(scopes: Scopes, operation: string): boolean {
  const scope = scopeOf(operation);
  return scope === PUBLIC || scopes === null || scopes.includes(scope);
}

/** Throws forbidden if the key lacks the operation's scope. The message names the scope. */
export function checkScope(scopes: Scopes, operation: string): void {
  if (mayDo(scopes, operation)) return;
  const scope = scopeOf(operation) as Scope;
  throw new DomainError('forbidden', `the API key lacks the scope ${scope}: it may not ${SCOPE_MEANINGS[scope]}`, {
    scope,
  });
}
