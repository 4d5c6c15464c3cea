import { z } from 'zod';
import { parseNetwork } from '../../std/networks.js';
import { deadline, type Field, limit, text } from '../kernel/field.js';
import { SCOPES } from '../kernel/scopes.js';
import { MAX_SSH_KEY_LENGTH } from './rules/ssh-key.js';

const NETWORK = 'must be a network or an address such as 203.0.113.0/24 or 2001:db8::/32';
/** Maximum number of networks per API key. */
const MAX_NETWORKS = 50;

export const accountFields = {
  monthlyLimit: limit(
    'Maximum spend in a UTC calendar month, in USD. Running instances under the limit stop when it is reached.',
  ),
  sshPublicKey: {
    schema: z.string().min(1).max(MAX_SSH_KEY_LENGTH),
    must: `one line of a .pub file, of at most ${MAX_SSH_KEY_LENGTH} characters`,
    description:
      'A public key as in a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -384 or -521, or ssh-rsa with at least 3,072 bits.',
  },
  name: text(1, 200, 'Display name.'),
  keyName: text(1, 60, 'Your name for the key.'),
  passkeyName: text(1, 60, 'Your name for the passkey.'),
  keyScopes: {
    schema: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    must: `a list of at least one of ${SCOPES.join(', ')}`,
    description: 'Permissions of the key. By default, those of the key that creates it.',
  },
  keyExpiresAt: deadline('When the key expires: it is refused from that second. By default never.'),
  keyNetworks: {
    schema: z
      .array(z.string().refine((each) => each.length <= 50 && parseNetwork(each) !== null, NETWORK))
      .min(1)
      .max(MAX_NETWORKS),
    must: `a list of 1 to ${MAX_NETWORKS} networks or addresses such as 203.0.113.0/24 or 2001:db8::/32`,
    description: 'Networks from which the key is accepted. By default all.',
  },
} satisfies Record<string, Field<unknown>>;
