// These packages bring no types: what is used of them.
declare module 'topojson-client' {
  export function feature(topology: unknown, object: unknown): object;
}
declare module 'd3-geo' {
  /** Whether the point, [longitude, latitude], is within it. */
  export function geoContains(object: object, point: [number, number]): boolean;
}
