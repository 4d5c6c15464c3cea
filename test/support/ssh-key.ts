import { generateKeyPairSync } from 'node:crypto';

/** Creates an SSH key and returns its public key as a line of a .pub file. */
export function newSshKey(comment = 'test'): string {
  const raw = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const parts = [Buffer.from('ssh-ed25519'), raw].flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]);
  return `ssh-ed25519 ${Buffer.concat(parts).toString('base64')} ${comment}`;
}
