// The failures. Each breaks something and returns a function that repairs it.
import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { isolate } from './isolation.mjs';

const byRole = {
  primary: ({ primary }) => primary,
  standby: async ({ cluster }) => {
    const { name } = (await cluster.members()).find(({ role }) => role === 'sync_standby');
    return cluster.nodes.find((node) => node.name === name);
  },
};

/** The node of this role is lost: all of its processes are killed. */
function lost(role) {
  return async (run) => {
    const node = await byRole[role](run);
    run.cluster.signalNode(node, 'SIGKILL');
    return () => run.cluster.startNode(node);
  };
}

/** The processes that `signal` reaches on the node of this role freeze, and continue later. */
function frozen(role, signal) {
  return async (run) => {
    const node = await byRole[role](run);
    run.cluster[signal](node, 'SIGSTOP');
    return () => run.cluster[signal](node, 'SIGCONT');
  };
}

/**
 * If `moves` is set, another node becomes the primary. The repair then follows `after` ms after the first deploy on it.
 * Otherwise, it follows after `after` ms. `needs` names what this machine must provide.
 */
export const FAILURES = {
  switchover: {
    about: 'switchover by the operator',
    moves: true,
    after: 3_000,
    breaks: async ({ cluster, primary }) => void (await cluster.switchover(primary)),
  },
  'primary-killed': {
    about: "the primary's server is lost",
    moves: true,
    after: 3_000,
    breaks: lost('primary'),
  },
  'primary-frozen': {
    about: "the primary's server freezes, and continues after a failover",
    moves: true,
    after: 5_000,
    breaks: frozen('primary', 'signalNode'),
  },
  'primary-isolated': {
    about: 'the primary is isolated, and two clients and a gateway with it',
    moves: true,
    needs: 'network',
    after: 8_000,
    breaks: (run) => isolate(run.primary, run),
  },
  'etcd-blocked': {
    about: "the primary's packets to etcd are dropped, but everything else reaches it",
    needs: 'network',
    after: 30_000,
    breaks: ({ cluster, network, primary }) => {
      network.block(
        primary,
        cluster.nodes.map(({ etcdPort }) => etcdPort),
      );
      return () => network.heal(primary);
    },
  },
  'patroni-frozen': {
    about: 'only Patroni freezes on the primary, so that there are two primaries for a while',
    moves: true,
    after: 5_000,
    breaks: frozen('primary', 'signalPatroni'),
  },
  'patroni-killed': {
    about: 'only Patroni is killed on the primary, and restarted after a failover',
    moves: true,
    after: 5_000,
    breaks: ({ cluster, primary }) => {
      cluster.signalPatroni(primary, 'SIGKILL');
      return () => cluster.startNode(primary);
    },
  },
  'patroni-restarted': {
    about: 'only Patroni is killed on the primary, and restarted after a second',
    after: 15_000,
    breaks: ({ cluster, primary }) => {
      cluster.signalPatroni(primary, 'SIGKILL');
      setTimeout(() => cluster.startNode(primary), 1_000);
    },
  },
  'postgres-killed': {
    about: "the primary's PostgreSQL crashes",
    moves: true,
    after: 3_000,
    breaks: ({ cluster, primary }) => void cluster.signalPostmaster(primary, 'SIGKILL'),
  },
  'disk-full': {
    about: "the primary's disk is full, and gets space again after 20 s",
    needs: 'disk',
    after: 20_000,
    breaks: ({ cluster, primary }) => {
      const filler = join(primary.home, 'filler');
      fill(primary.home, filler);
      const refill = setInterval(() => fill(primary.home, `${filler}-${Date.now()}`), 1_000);
      return () => {
        clearInterval(refill);
        execFileSync('find', [primary.home, '-maxdepth', '1', '-name', 'filler*', '-delete']);
        if (!cluster.hasEtcd(primary)) cluster.startEtcd(primary);
      };
    },
  },
  'standby-killed': { about: 'the synchronous standby is lost', after: 15_000, breaks: lost('standby') },
  'standby-frozen': {
    about: 'the synchronous standby freezes',
    after: 25_000,
    breaks: frozen('standby', 'signalNode'),
  },
  'etcd-leader-killed': {
    about: "etcd's leader is lost",
    after: 15_000,
    breaks: async ({ cluster }) => {
      const node = await cluster.etcdLeader();
      cluster.signalEtcd(node, 'SIGKILL');
      return () => cluster.startEtcd(node);
    },
  },
  'etcd-frozen': {
    about: 'all etcd members freeze',
    after: 25_000,
    breaks: ({ cluster }) => {
      for (const node of cluster.nodes) cluster.signalEtcd(node, 'SIGSTOP');
      return () => {
        for (const node of cluster.nodes) cluster.signalEtcd(node, 'SIGCONT');
      };
    },
  },
  'haproxy-killed': {
    about: 'HAProxy is killed and restarted',
    after: 8_000,
    breaks: ({ cluster }) => void cluster.restartHaproxy(),
  },
  'gateway-killed': {
    about: 'a gateway is killed and restarted',
    after: 8_000,
    breaks: ({ gateways }) => {
      gateways[0].kill();
      return () => gateways[0].start();
    },
  },
};

/** The names of all failures in the order of a full run, in which the primary moves 30 times. */
export function fullRun() {
  const round = ['switchover', 'primary-killed', 'primary-isolated', 'postgres-killed', 'primary-frozen'];
  const others = [
    ['patroni-frozen', 'etcd-blocked', 'standby-killed'],
    ['patroni-killed', 'disk-full', 'haproxy-killed'],
    ['patroni-frozen', 'etcd-leader-killed', 'gateway-killed'],
    ['patroni-killed', 'standby-frozen', 'patroni-restarted'],
    ['primary-isolated', 'disk-full', 'etcd-frozen'],
  ];
  return others.flatMap((more) => [...round, ...more]);
}

/** Leaves no space on the file system. If less is free than it reports, what is free is filled in smaller steps. */
function fill(folder, file) {
  const { bavail, bsize } = statfsSync(folder);
  for (let blocks = bavail; blocks > 0; blocks = Math.floor(blocks / 2)) {
    try {
      execFileSync('fallocate', ['-l', String(blocks * bsize), `${file}-${blocks}`], { stdio: 'ignore' });
    } catch {
      // The database used some of the space in the meantime.
    }
  }
}
