// Network namespaces, one for each node of the cluster, which can be disconnected from each other. They are connected by
// a bridge in another namespace, so this machine's own firewall doesn't affect them. This needs root and Linux.
import { execFileSync } from 'node:child_process';

const NODES = 3;
const NETWORK = '10.213.77';
const HOST = `${NETWORK}.254`;

/** Whether this process can create namespaces. */
export function canDisconnect() {
  try {
    for (const command of ['ip netns list', 'iptables -L -n']) run(command);
    return process.getuid() === 0;
  } catch {
    return false;
  }
}

/** Creates the namespaces. `place` is for startCluster, and `host` is this machine's address in the network. */
export function openNetwork() {
  const prefix = `ha${process.pid}`;
  const hub = `${prefix}-hub`;
  const namespaceOf = ({ address }) => `${prefix}-${address.split('.')[3]}`;
  const servers = Array.from({ length: NODES }, (_, index) => {
    const address = `${NETWORK}.${index + 1}`;
    return { address, command: ['ip', 'netns', 'exec', namespaceOf({ address })] };
  });
  const filter = (node, rule) => run(`ip netns exec ${namespaceOf(node)} iptables ${rule}`);
  const network = {
    host: HOST,
    place: { network: `${NETWORK}.0/24`, servers },
    /** Drops all packets between a node and everything else. Programs in its namespace still reach it. */
    isolate: (node) => {
      filter(node, '-A INPUT ! -i lo -j DROP');
      filter(node, '-A OUTPUT ! -o lo -j DROP');
    },
    /** Drops a node's packets to these ports, even to its own. Everything else still reaches it. */
    block: (node, ports) => {
      for (const port of ports) filter(node, `-A OUTPUT -p tcp --dport ${port} -j DROP`);
    },
    heal: (node) => filter(node, '-F'),
    close: () => {
      for (const name of [...servers.map(namespaceOf), hub]) attempt(`ip netns del ${name}`);
      attempt(`ip link del ${prefix}h`);
    },
  };
  try {
    run(`ip netns add ${hub}`);
    run(`ip -n ${hub} link add bridge type bridge`);
    run(`ip -n ${hub} link set bridge up`);
    run(`ip link add ${prefix}h type veth peer name host netns ${hub}`);
    run(`ip -n ${hub} link set host master bridge up`);
    run(`ip addr add ${HOST}/24 dev ${prefix}h`);
    run(`ip link set ${prefix}h up`);
    for (const server of servers) connectToHub(hub, namespaceOf(server), server.address);
    return network;
  } catch (error) {
    network.close();
    throw error;
  }
}

function connectToHub(hub, name, address) {
  const port = `node${address.split('.')[3]}`;
  run(`ip netns add ${name}`);
  run(`ip -n ${hub} link add ${port} type veth peer name eth0 netns ${name}`);
  run(`ip -n ${hub} link set ${port} master bridge up`);
  run(`ip -n ${name} addr add ${address}/24 dev eth0`);
  run(`ip -n ${name} link set eth0 up`);
  run(`ip -n ${name} link set lo up`);
}

function run(command) {
  const [file, ...args] = command.split(' ');
  const { PATH = '/usr/bin:/bin' } = process.env;
  execFileSync(file, args, { env: { PATH: `${PATH}:/usr/sbin:/sbin` }, stdio: ['ignore', 'ignore', 'pipe'] });
}

function attempt(command) {
  try {
    run(command);
  } catch {
    // It doesn't exist.
  }
}
