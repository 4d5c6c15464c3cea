// Types of the used parts of packages that ship none.
declare module 'topojson-client' {
  export function feature(topology: unknown, object: unknown): object;
}
declare module 'd3-geo' {
  /** Whether the point, [longitude, latitude], is within it. */
  export function geoContains(object: object, point: [number, number]): boolean;
}
