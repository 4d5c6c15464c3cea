// 1,000 users are signed in to the console while the offers change ten times per second.
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../support/database.mjs';
import { rentalsOf } from '../support/default-data.mjs';
import { keyOf } from '../support/fill.mjs';
import { requestBytes } from '../support/load.mjs';
import { cpuSecondsOf, residentMegabytesOf, startGateway } from '../support/programs.mjs';
import { settings } from '../support/settings.mjs';

const STREAMS = 1_000;
const CHANGES_PER_SECOND = 10;
const AT_MOST_MEGABYTES = 400;
/** Number of streams opened concurrently, as when pages reconnect after a gateway restart. */
const OPENED_CONCURRENTLY = 50;
const OPENS_WITHIN_MS = 60_000;
const EVENT = 'event: next';

const ACCOUNT = `subscription { accountChanged { account { asOf balance burnPerHour monthSpend exhaustsAt diskDeleteAt }
  instances { id status priceHr diskPriceHr usage { total } } topUps { id } } }`;
/** The subscription that the console's machine list uses. */
const PRICING = 'subscription { pricingChanged { marketSnapshot data { slug availableGpus } } }';

export const streamsCases = [
  {
    name: 'streams',
    title: `${STREAMS} signed-in event streams, and as many of the price sheet`,
    work: 'the gateway only: it sends events on open streams while machines are rented or destroyed',
    against: `RSS while offers change ${CHANGES_PER_SECOND} times per second`,
    atMostMegabytes: AT_MOST_MEGABYTES,
    weigh: async ({ freshUrl }) => {
      const url = await freshUrl();
      const cookies = await beginSessions(url);
      const gateway = await startGateway(url);
      const open = [];
      try {
        const rentals = await rentalsOf(url);
        const phase = async (name) => ({ name, ...(await observe(gateway, rentals, open)) });
        const phases = [await phase('no streams')];
        open.push(...(await openAll(gateway.port, cookies, ACCOUNT)));
        phases.push(await phase(`${STREAMS} accountChanged`));
        open.push(...(await openAll(gateway.port, cookies, PRICING)));
        phases.push(await phase('with pricingChanged too'));
        const lost = open.filter(({ isOpen }) => !isOpen()).length;
        if (lost > 0) throw new Error(`${lost} of ${open.length} streams were disconnected`);
        return { megabytes: phases.at(-1).megabytes, phases, note: phases.map(wordsFor).join('; ') };
      } finally {
        for (const { close } of open) close();
        await gateway.end();
      }
    },
  },
];

const wordsFor = ({ name, megabytes, busy, changes, events }) =>
  `${name}: ${Math.round(megabytes)} MB, ${(busy * 100).toFixed(0)} % of a core, ${changes.toFixed(1)} changes and ${events.toFixed(0)} events/s`;

/**
 * Creates a session for each account directly in the database, because each address may only sign in every few seconds.
 */
async function beginSessions(url) {
  const tokens = Array.from({ length: STREAMS }, (_, index) =>
    createHash('sha256').update(`session ${index}`).digest('base64url'),
  );
  const hashes = tokens.map((token) => createHash('sha256').update(token).digest());
  await withClient(url, (client) =>
    client.query(
      `insert into console_session (token_hash, key_id, created_at, expires_at)
       select session.hash, api_key.id, now(), now() + interval '12 hours'
       from unnest($1::bytea[], $2::bytea[]) as session (hash, key) join api_key on api_key.hash = session.key
       on conflict do nothing`,
      [
        hashes,
        tokens.map((_, index) =>
          createHash('sha256')
            .update(keyOf(index + 1))
            .digest(),
        ),
      ],
    ),
  );
  return tokens.map((token) => `console=${token}`);
}

async function openAll(port, cookies, query) {
  const streams = [];
  for (let from = 0; from < cookies.length; from += OPENED_CONCURRENTLY) {
    const next = cookies.slice(from, from + OPENED_CONCURRENTLY).map((cookie) => openStream(port, cookie, query));
    streams.push(...(await Promise.all(next)));
  }
  return streams;
}

/** Opens a stream. Resolves at its first event. */
function openStream(port, cookie, query) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let [events, head, isOpen] = [0, '', true];
    const late = setTimeout(() => fail('opened no stream in time'), OPENS_WITHIN_MS);
    const fail = (why) => {
      clearTimeout(late);
      socket.destroy();
      reject(new Error(`${why}: ${head.slice(0, 500)}`));
    };
    socket.setEncoding('utf8').on('data', (text) => {
      // An event whose name is split between two reads isn't counted.
      events += text.split(EVENT).length - 1;
      if (head.length < 1_000) head += text;
      if (!/^HTTP\/1.1 200/.test(head)) return fail('refused');
      if (events === 0) return;
      clearTimeout(late);
      resolve({ events: () => events, isOpen: () => isOpen, close: () => socket.destroy() });
    });
    socket
      .on('error', () => {})
      .on('close', () => {
        isOpen = false;
        if (events === 0) fail('broke off');
      });
    const headers = { Accept: 'text/event-stream', Origin: 'http://127.0.0.1', Cookie: cookie };
    socket.write(requestBytes({ method: 'POST', path: '/graphql', headers, body: JSON.stringify({ query }) }));
  });
}

/**
 * Measures the gateway's resource usage and the number of events that it sends while machines are rented and returned.
 */
async function observe({ pid, port }, rentals, open) {
  const sent = () => open.reduce((sum, { events }) => sum + events(), 0);
  await changeOffers(port, rentals, settings.seconds);
  const [cpuBefore, eventsBefore, startedAt] = [cpuSecondsOf(pid), sent(), performance.now()];
  const changes = await changeOffers(port, rentals, settings.seconds * settings.rounds);
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    megabytes: residentMegabytesOf(pid),
    busy: (cpuSecondsOf(pid) - cpuBefore) / seconds,
    changes: changes / seconds,
    events: (sent() - eventsBefore) / seconds,
  };
}

/**
 * Deploys and destroys at a fixed rate, regardless of how long the previous change took. Returns the number of changes.
 */
async function changeOffers(port, rentals, seconds) {
  const call = async ({ account }, method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${keyOf(account)}`, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const result = await answer.json();
    if (!answer.ok) throw new Error(JSON.stringify(result));
    return result;
  };
  const changes = [];
  for (let turn = 0; turn < (seconds * CHANGES_PER_SECOND) / 2; turn += 1) {
    const rental = rentals[turn % rentals.length];
    const rented = call(rental, 'POST', '/instances', { machine_id: rental.machineId });
    await sleep(1_000 / CHANGES_PER_SECOND);
    changes.push(rented.then(({ id }) => call(rental, 'DELETE', `/instances/${id}`)));
    await sleep(1_000 / CHANGES_PER_SECOND);
  }
  await Promise.all(changes);
  return 2 * changes.length;
}
