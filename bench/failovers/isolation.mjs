// Isolates a primary together with a gateway and a client, and reports what they could write.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../deploy/ha/local.mjs';
import { keyOf } from '../support/fill.mjs';
import { Gateway } from './gateway.mjs';
import { until } from './tools.mjs';

const TRAPPED = fileURLToPath(new URL('trapped.mjs', import.meta.url));

/** Returns a function that ends the isolation and resolves to the result of the trapped clients. */
export async function isolate(primary, { cluster, network, trapped: { account, machineIds }, results, env }) {
  const [port] = await freePorts(1);
  const databaseUrl = cluster.urlOf(primary, 'gateway');
  const gateway = new Gateway(port, {
    folder: cluster.folder,
    databaseUrl,
    env: { ...env, SEED: 'none', HOST: primary.address },
    command: primary.command,
  });
  gateway.spawn();
  await until('the trapped gateway is ready', () => isReady(primary.address, port));
  network.isolate(primary);
  const name = `trapped-${results.length + 1}`;
  const config = { url: databaseUrl, address: primary.address, port, key: keyOf(account), machineIds, name };
  const [file, ...args] = [...primary.command, process.execPath, TRAPPED, JSON.stringify(config)];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const output = text(child.stdout);
  return async () => {
    child.stdin.end();
    await once(child, 'close');
    results.push(JSON.parse(await output));
    gateway.kill();
    network.heal(primary);
  };
}

async function isReady(address, port) {
  const answer = await fetch(`http://${address}:${port}/readyz`).catch(() => null);
  return answer?.ok === true;
}
