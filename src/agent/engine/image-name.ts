/** An image as a renter or the operator names it, read as Docker reads it. */
export interface ImageName {
  /** Host, with its port if one is named. */
  registry: string;
  /** The whole name, with registry and tag or digest: it can't be taken for the id of an image, or for a short name. */
  reference: string;
}

/** The registry of names that name none. */
export const DEFAULT_REGISTRY = 'docker.io';
/** The image is put into a path of the engine's API. */
const IMAGE = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:@/-]{0,510}$/;
const REGISTRY = /^[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?$/;

/** Null for what names no image. */
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

/** Without a tag or digest engines pull every tag there is. */
export function withTag(image: string): string {
  return /[:@][^/]*$/.test(image) ? image : `${image}:latest`;
}
