/**
 * The grammar of image references, including digests, as defined by the OCI distribution project's reference library.
 * In addition, ports are limited to 65535, and a name must not consist of 64 hexadecimal digits, because container
 * engines would mistake it for an id. Template slugs match too.
 */
const COMPONENT = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const HOST = `(?:${COMPONENT}(?:\\.${COMPONENT})*|\\[[a-fA-F0-9:]+\\])`;
const PORT = '(?:6553[0-5]|655[0-2]\\d|65[0-4]\\d{2}|6[0-4]\\d{3}|[1-5]\\d{4}|[1-9]\\d{0,3})';
const PATH_COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const TAG = '\\w[\\w.-]{0,127}';
const DIGEST = '(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})';

export const IMAGE_REFERENCE = new RegExp(
  `^(?![a-f0-9]{64}(?:[:@]|$))(?:${HOST}(?::${PORT})?/)?${PATH_COMPONENT}(?:/${PATH_COMPONENT})*(?::${TAG})?(?:@${DIGEST})?$`,
);

/** Matches a registry host in lower case, with an optional port. */
export const REGISTRY_HOST = new RegExp(`^(?=[^A-Z]*$)${HOST}(?::${PORT})?$`);
