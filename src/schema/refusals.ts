import type { Refused } from '../domain/rules/errors.js';
import { builder } from './builder.js';

export const RefusalType = builder.objectRef<Refused>('Refusal').implement({
  description: 'Why something would be refused now.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'The code of the error that it would be refused with.' }),
    message: t.exposeString('message', { description: 'The reason, for people.' }),
  }),
});
