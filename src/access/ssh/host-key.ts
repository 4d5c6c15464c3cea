import ssh2 from 'ssh2';
import { gatewaySecret } from '../../domain/accounts/gateway-secret.js';
import type { Deps } from '../../domain/deps.js';

/** The host's key, the same for all gateways of a database, and its public part as known_hosts holds it. */
export async function hostKey(deps: Pick<Deps, 'db' | 'clock'>): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = await gatewaySecret(deps, 'ssh_host_key', newKey);
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  return { privateKey, publicKey: `${parsed.type} ${parsed.getPublicSSH().toString('base64')}` };
}

/** About one key in some hundred is written by ssh2 in a form that it can't read. */
const MAX_TRIES = 20;

/** A private key in OpenSSH's form, checked by parsing it. */
export function newKey(): string {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { private: key } = ssh2.utils.generateKeyPairSync('ed25519');
    const parsed = ssh2.utils.parseKey(key);
    if (parsed instanceof Error) continue;
    const signature = parsed.sign('tried');
    if (Buffer.isBuffer(signature) && parsed.verify('tried', signature) === true) return key;
  }
  throw new Error('no host key for SSH could be made');
}
