import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';

/**
 * Tools that tests use in addition to Node and coreutils, each with its source, which is a Debian package unless stated
 * otherwise.
 */
const PROVIDED_BY = {
  anvil: 'npm install --no-save @foundry-rs/anvil-linux-amd64',
  bash: 'bash',
  busybox: 'busybox-static',
  caddy: 'caddy',
  chromium: 'chromium-headless-shell',
  curl: 'curl',
  docker: 'docker.io',
  'docker-compose': 'docker-compose',
  'docker-registry': 'docker-registry',
  dockerd: 'docker.io',
  debootstrap: 'debootstrap',
  fallocate: 'util-linux',
  fusermount3: 'fuse3',
  ldd: 'libc-bin',
  litecoind: 'litecoind',
  'mkfs.ext4': 'e2fsprogs',
  'monero-wallet-rpc': 'monero',
  monerod: 'monero',
  mount: 'mount',
  podman: 'podman',
  promtool: 'prometheus',
  ps: 'procps',
  python3: 'python3-venv',
  rclone: 'rclone',
  'redis-server': 'redis-server',
  restic: 'restic',
  rsync: 'rsync',
  scp: 'openssh-client',
  script: 'bsdutils',
  setpriv: 'util-linux',
  sftp: 'openssh-client',
  ssh: 'openssh-client',
  'ssh-keygen': 'openssh-client',
  sshd: 'openssh-server',
  'systemd-analyze': 'systemd',
  tar: 'tar',
  umount: 'mount',
} as const;

export type Tool = keyof typeof PROVIDED_BY;

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test is left out on this machine and how to provide what it needs. */
    leftOut?: { wants: string; providedBy: string }[];
  }
}

export interface Needs {
  skip: boolean;
  meta: { leftOut: { wants: string; providedBy: string }[] };
}

/** Equivalent programs for a name, best first. The program with the name itself comes last. */
const ALTERNATIVES: Record<string, readonly string[]> = {
  // This is the same engine without a user interface, which would use processor time.
  chromium: ['chromium-headless-shell'],
};

const ANVIL = join(PACKAGE_ROOT, 'node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil');

/** Returns the path of a program, or null if it isn't installed. */
export function find(program: string): string | null {
  if (program === 'chromium' && process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  if (program === 'anvil' && existsSync(ANVIL)) return ANVIL;
  if (program === 'python3' && process.env.PYTHON) return process.env.PYTHON;
  // It must be the one from util-linux, because others have different options.
  if (program === 'script' && process.platform !== 'linux') return null;
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const names = [...(ALTERNATIVES[program] ?? []), program];
  return names.flatMap((name) => dirs.map((dir) => join(dir, name))).find((path) => isProgram(path)) ?? null;
}

/**
 * Returns the options of a test or group of tests that uses these programs. It is left out if one of them is missing,
 * which `npm test` reports at its end. With REQUIRE_TOOLS, as in .ci/run, the test file fails instead.
 */
export function needs(...tools: readonly Tool[]): Needs {
  const missing = tools.filter((tool) => find(tool) === null);
  return options(missing.map((tool) => ({ wants: tool, providedBy: PROVIDED_BY[tool] })));
}

/** Like `needs`, but for actions that only root may perform. */
export function needsRoot(...tools: readonly Tool[]): Needs {
  const { meta } = needs(...tools);
  const root = process.getuid?.() === 0 ? [] : [{ wants: 'root', providedBy: 'running as root' }];
  return options([...root, ...meta.leftOut]);
}

/** Like `needs`, but for requirements other than programs. */
export function needsThat(holds: boolean, wants: string, providedBy: string): Needs {
  return options(holds ? [] : [{ wants, providedBy }]);
}

/** Returns the options of a test that needs its own command or hardware and is left out even in CI. */
export function leftOut(wants: string, providedBy: string): Needs {
  return { skip: true, meta: { leftOut: [{ wants, providedBy }] } };
}

function options(leftOut: Needs['meta']['leftOut']): Needs {
  if (leftOut.length > 0 && process.env.REQUIRE_TOOLS) {
    const missing = leftOut.map(({ wants, providedBy }) => `${wants} (${providedBy})`);
    throw new Error(`REQUIRE_TOOLS is set, and these tests need ${missing.join(', ')}`);
  }
  return { skip: leftOut.length > 0, meta: { leftOut } };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
