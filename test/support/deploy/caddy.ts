import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { join } from 'node:path';
import { type ConnectionOptions, connect } from 'node:tls';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { freePort } from '../free-port.js';
import { folder } from '../process.js';
import { find } from '../tools.js';
import { until } from '../until.js';

const API_HOST = 'gateway.localhost';
const SERVICE_DOMAIN = 'instances.localhost';
const STARTS_WITHIN_MS = 120_000;

/** Caddy with the project's own Caddyfile and certificates from its own authority. */
export interface TestCaddy {
  /** Caddy's TLS port on this host. */
  port: number;
  apiHost: string;
  serviceDomain: string;
  /** Returns the options with which a client connects to a name and trusts its certificate. */
  tls(host?: string): ConnectionOptions & { ca: string; servername: string; host: string; port: number };
  log(): string;
  end(): Promise<void>;
}

/** Starts Caddy. `gateways` are ports on this host. The first two have their own addresses for host agents' streams. */
export async function startCaddy(gateways: readonly number[], env: Record<string, string> = {}): Promise<TestCaddy> {
  const [home, port, httpPort] = [folder(), await freePort(), await freePort()];
  const [first, second, ...more] = gateways.map((gateway) => `127.0.0.1:${gateway}`);
  const options = [
    'local_certs',
    'skip_install_trust',
    'admin off',
    `http_port ${httpPort}`,
    `https_port ${port}`,
    `storage file_system ${home}`,
  ];
  const { PATH = '/usr/bin:/bin' } = process.env;
  const child: ChildProcess = spawn(
    find('caddy')!,
    ['run', '--adapter', 'caddyfile', '--config', join(PACKAGE_ROOT, 'deploy/Caddyfile')],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH,
        HOME: home,
        XDG_CONFIG_HOME: home,
        XDG_DATA_HOME: home,
        API_HOST,
        SERVICE_DOMAIN,
        CADDY_GLOBAL: options.join('\n'),
        INSTANCES_TLS: '',
        GATEWAY_1: first!,
        GATEWAY_2: second ?? first!,
        MORE_GATEWAYS: more.join(' '),
        ...env,
      },
    },
  );
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  const root = join(home, 'pki/authorities/local/root.crt');
  const tls = (host = API_HOST) => ({
    host: '127.0.0.1',
    port,
    servername: host,
    ca: existsSync(root) ? readFileSync(root, 'utf8') : '',
  });
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const answers = () => {
    if (child.exitCode !== null) throw new Error(`caddy ended with ${child.exitCode}: ${log}`);
    return existsSync(root) && greets(tls());
  };
  try {
    await until(`caddy answers on port ${port}`, answers, STARTS_WITHIN_MS);
  } catch (error) {
    await end();
    throw new Error(`${(error as Error).message}\n${log}`);
  }
  return { port, apiHost: API_HOST, serviceDomain: SERVICE_DOMAIN, tls, log: () => log, end };
}

/** Whether a TLS handshake succeeds. */
function greets(options: ConnectionOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(options, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface CaddyRequest {
  method?: string;
  path: string;
  host?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

/** Sends one HTTP/1.1 request, on its own connection unless an agent is given. */
export function requestCaddy(
  caddy: TestCaddy,
  { method = 'GET', path, host, headers, body, agent }: CaddyRequest,
): Promise<Answer> {
  const tls = caddy.tls(host);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...tls,
        method,
        path,
        agent: agent ?? false,
        headers: {
          host: `${tls.servername}:${caddy.port}`,
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
