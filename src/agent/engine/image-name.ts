/** An image name supplied by a renter or the operator, parsed as Docker does. */
export interface ImageName {
  /** Registry host, with its port if the name contains one. */
  registry: string;
  /** The full name with registry and tag or digest, so that it can't be mistaken for an image id or a short name. */
  reference: string;
}

/** Registry used for names that don't include one. */
export const DEFAULT_REGISTRY = 'docker.io';
/** Restrictive, because the name becomes part of a path in the engine's API. */
const IMAGE = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:@/-]{0,510}$/;
const REGISTRY = /^[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?$/;

/** Parses an image name. Returns null if the name is invalid. */
export function readImageName(image: string): ImageName | null {
  if (!IMAGE.test(image)) return null;
  const [first = '', ...rest] = image.split('/');
  const namesRegistry =
    rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const named = namesRegistry ? first.toLowerCase() : DEFAULT_REGISTRY;
  const registry = named === 'index.docker.io' ? DEFAULT_REGISTRY : named;
  const path = namesRegistry ? rest.join('/') : image;
  if (!REGISTRY.test(registry) || path === '') return null;
  const whole = registry === DEFAULT_REGISTRY && !path.includes('/') ? `library/${path}` : path;
  return { registry, reference: withTag(`${registry}/${whole}`) };
}

/** Adds the default tag if the name has neither tag nor digest, because engines would otherwise pull every tag. */
export function withTag(image: string): string {
  return /[:@][^/]*$/.test(image) ? image : `${image}:latest`;
}
