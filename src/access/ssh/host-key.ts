import ssh2 from 'ssh2';
import { gatewaySecret } from '../../domain/accounts/gateway-secret.js';
import type { Deps } from '../../domain/deps.js';

/** The host's key, the same for all gateways of a database, and its public part as known_hosts holds it. */
export async function hostKey(deps: Deps): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = await gatewaySecret(deps, 'ssh_host_key', () => ssh2.utils.generateKeyPairSync('ed25519').private);
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  return { privateKey, publicKey: `${parsed.type} ${parsed.getPublicSSH().toString('base64')}` };
}
