// A receiver of all accounts' webhooks, which verifies each delivery's signature.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { repeatedRequests } from './clients.mjs';

const EVENTS = ['instance.running', 'instance.destroyed', 'topup.credited'];
const CREATE = `mutation ($url: String!, $events: [String!]) { createWebhook(url: $url, events: $events) { secret } }`;

/** Receives on this address, which all gateways reach. */
export async function openReceiver(address) {
  const secrets = new Map();
  const receiver = {
    /** Received events, such as "instance.running i-1a2b3c4d". */
    received: new Set(),
    deliveries: 0,
    badSignatures: 0,
    env: { WEBHOOK_NETWORKS: `${address}/32`, SECRETS_KEY: '5a'.repeat(32) },
    /** Gives accounts 1 to `accounts` a webhook each. */
    register: async (accounts, { gateways, record }) => {
      for (let n = 1; n <= accounts; n += 1) {
        const variables = { url: `http://${address}:${server.address().port}/${n}`, events: EVENTS };
        const body = JSON.stringify({ query: CREATE, variables });
        const answer = await repeatedRequests(n, gateways, record)('POST', '/graphql', body);
        secrets.set(`/${n}`, JSON.parse(answer.body).data.createWebhook.secret);
      }
    },
    /** Returns the acknowledged changes whose event hasn't arrived. */
    missing: ({ deployed, destroyed, paid }) =>
      [
        ...[...deployed.keys()].map((id) => `instance.running ${id}`),
        ...[...destroyed].map((id) => `instance.destroyed ${id}`),
        ...[...paid.keys()].map((id) => `topup.credited ${id}`),
      ].filter((each) => !receiver.received.has(each)),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    try {
      new Webhook(secrets.get(request.url)).verify(body, request.headers);
    } catch {
      receiver.badSignatures += 1;
      return response.writeHead(401).end();
    }
    const { type, data } = JSON.parse(body);
    receiver.deliveries += 1;
    receiver.received.add(`${type} ${data.instance ?? data.top_up}`);
    response.end();
  });
  server.listen(0, address);
  await once(server, 'listening');
  return receiver;
}
