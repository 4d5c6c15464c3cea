import ssh2 from 'ssh2';
import { gatewaySecret } from '../../domain/accounts/gateway-secret.js';
import type { KernelDeps } from '../../domain/kernel/deps.js';

/**
 * Returns the host key, which is shared by all gateways with the same database, and its public part in known_hosts
 * format.
 */
export async function hostKey(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = await gatewaySecret(deps, 'ssh_host_key', newKey);
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  return { privateKey, publicKey: `${parsed.type} ${parsed.getPublicSSH().toString('base64')}` };
}

/** Maximum number of attempts. ssh2 writes about one key in a few hundred in a form that it can't read itself. */
const MAX_TRIES = 20;

/** Creates a private key in OpenSSH format, and checks it by parsing it. */
export function newKey(): string {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { private: key } = ssh2.utils.generateKeyPairSync('ed25519');
    const parsed = ssh2.utils.parseKey(key);
    if (parsed instanceof Error) continue;
    const signature = parsed.sign('tried');
    if (Buffer.isBuffer(signature) && parsed.verify('tried', signature) === true) return key;
  }
  throw new Error('an SSH host key could not be created');
}
