import { z } from 'zod';
import { bytesOf, entryText, type Field, isProcessText, text } from '../kernel/field.js';
import { REGISTRY_HOST } from '../kernel/image-reference.js';

const MAX_SECRET_BYTES = 32_000;
const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const SECRET_NAME_MUST =
  'a name of 1 to 63 letters, digits, dots, hyphens and underscores that starts with a letter or digit';
export const secretName = entryText(SECRET_NAME, SECRET_NAME_MUST);

export const secretFields = {
  secretName: { schema: secretName, must: SECRET_NAME_MUST, description: 'Name of the secret, unique in the account.' },
  secretValue: {
    schema: z.string().refine((value) => isProcessText(value) && value !== '' && bytesOf([value]) <= MAX_SECRET_BYTES),
    must: `a string of 1 to ${MAX_SECRET_BYTES} bytes without NUL`,
    description: 'Value of the secret. It is stored encrypted and never shown again.',
  },
  registry: {
    schema: z.string().max(255).regex(REGISTRY_HOST),
    must: 'the host name of a registry, with its port if needed, such as ghcr.io',
    description: 'Host name of the registry that the login is for; docker.io for Docker Hub.',
  },
  registryUser: text(1, 255, 'User name at the registry.'),
} satisfies Record<string, Field<unknown>>;
