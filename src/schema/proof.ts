import { proofFields } from '../domain/proof/fields.js';
import { consistencyProof, inclusionProof, MAX_ROOTS, rootsAfter } from '../domain/proof/log.js';
import { keysDocument } from '../domain/proof/signing-keys.js';
import { builder, fromField, NEEDS_KEY, ofSize } from './builder.js';
import { accountOf } from './context.js';

/** Number of members of a root, each of which is a value. */
const ROOT_MEMBERS = 8;

builder.queryFields((t) => ({
  signingKeys: t.field({
    type: 'Json',
    description: 'All keys that ever signed documents (`gpu-rental/keys/v1`), oldest first. Public.',
    resolve: (_root, _args, { deps }) => keysDocument(deps),
  }),
  logRoots: t.field({
    type: 'Json',
    ...ofSize(MAX_ROOTS * ROOT_MEMBERS),
    description: `Signed roots of the public log (\`gpu-rental/roots/v1\`), oldest first; at most ${MAX_ROOTS}. Public.`,
    args: { after: t.arg.int(fromField(proofFields.after)) },
    resolve: (_root, { after }, { deps }) => rootsAfter(deps, after),
  }),
  logConsistency: t.field({
    type: 'Json',
    description: 'Proof that one tree of the log extends another (`gpu-rental/consistency/v1`). Public.',
    args: {
      first: t.arg.int({ required: true, ...fromField(proofFields.first) }),
      second: t.arg.int({ required: true, ...fromField(proofFields.second) }),
    },
    resolve: (_root, { first, second }, { deps }) => consistencyProof(deps, first, second),
  }),
  logInclusion: t.field({
    type: 'Json',
    nullable: true,
    ...NEEDS_KEY,
    description:
      "Proof that the newest root covers the account's ledger (`gpu-rental/inclusion/v1`); null before the first root that does. Needs an API key.",
    resolve: (_root, _args, context) => inclusionProof(context.deps, accountOf(context)),
  }),
}));
