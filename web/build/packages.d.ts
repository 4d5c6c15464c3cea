// Types for the parts that we use of packages without types.
declare module 'topojson-client' {
  export function feature(topology: unknown, object: unknown): object;
}
declare module 'd3-geo' {
  /** Whether the object contains the point, given as [longitude, latitude]. */
  export function geoContains(object: object, point: [number, number]): boolean;
}
