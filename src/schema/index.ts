import type { GraphQLSchema } from 'graphql';
import { builder } from './builder.js';
import { guardOperations } from './scopes.js';
import './scalars.js';
import './catalogue.js';
import './pricing.js';
import './offers.js';
import './machines.js';
import './instances.js';
import './runtime.js';
import './metrics.js';
import './saved-templates.js';
import './secrets.js';
import './offer-search.js';
import './balance.js';
import './accounts.js';
import './activity.js';
import './timeline.js';
import './api-keys.js';
import './node.js';
import './quotes.js';
import './spend.js';
import './ssh-keys.js';
import './proof.js';
import './statements.js';
import './invoices.js';
import './top-ups.js';
import './volumes.js';
import './attachments.js';
import './web-ports.js';
import './webhooks.js';
import './mail.js';
import './instance-logs.js';

export function buildSchema(): GraphQLSchema {
  const schema = builder.toSchema();
  guardOperations(schema);
  return schema;
}
