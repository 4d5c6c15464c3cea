import { listPasskeys, revokePasskey } from '../domain/accounts/passkeys.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const PasskeyType = builder.prismaObject('Passkey', {
  description:
    'A passkey that signs in to the web console on behalf of an API key, with the same rights and restrictions.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Passkey id.' }),
    name: t.exposeString('name', { description: 'Name that the owner gave the passkey.' }),
    keyId: t.exposeID('keyId', { description: 'The API key whose console session created it.' }),
    host: t.exposeString('rpId', { description: 'Host name of the console for which browsers offer it.' }),
    isCurrent: t.boolean({
      description: 'Whether this request uses a console session that was opened with the passkey.',
      resolve: ({ id }, _args, { caller }) => caller?.passkeyId === id,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last sign-in; null if there was none.',
    }),
  }),
});

builder.queryFields((t) => ({
  passkeys: t.prismaField({
    type: [PasskeyType],
    ...NEEDS_KEY,
    nullable: true,
    description: "Passkeys of the account's valid keys, newest first. Only the web console can create one.",
    resolve: (query, _root, _args, context) => listPasskeys(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  revokePasskey: t.field({
    type: PasskeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Revokes a passkey and ends the console sessions opened with it.',
    args: { id: t.arg.id({ required: true, description: 'Passkey id.' }) },
    resolve: (_root, { id }, context) => revokePasskey(context.deps, accountOf(context), id),
  }),
}));
