import type { Refused } from '../domain/kernel/errors.js';
import { builder } from './builder.js';

export const RefusalType = builder.objectRef<Refused>('Refusal').implement({
  description: 'Reason why a request would be refused now.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Error code of the refusal.' }),
    message: t.exposeString('message', { description: 'Human-readable reason.' }),
  }),
});
