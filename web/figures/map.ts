/**
 * Width of the world map in its own units rather than pixels. The map uses the Miller projection, from 58° south to 76°
 * north.
 */
export const MAP_WIDTH = 1_000;
const [NORTH, SOUTH] = [76, -58];
const RADIUS = MAP_WIDTH / (2 * Math.PI);

const up = (latitude: number): number => 1.25 * Math.log(Math.tan(Math.PI / 4 + (0.4 * latitude * Math.PI) / 180));

export const MAP_HEIGHT = Math.round(RADIUS * (up(NORTH) - up(SOUTH)));

/** Returns a place's position on the map, measured from the left and from the top. */
export function onMap(latitude: number, longitude: number): readonly [x: number, y: number] {
  return [((longitude + 180) / 360) * MAP_WIDTH, RADIUS * (up(NORTH) - up(latitude))];
}

/** Inverts `onMap` and returns [longitude, latitude]. */
export function fromMap(x: number, y: number): [longitude: number, latitude: number] {
  const angle = Math.atan(Math.exp((up(NORTH) - y / RADIUS) / 1.25)) - Math.PI / 4;
  return [(x / MAP_WIDTH) * 360 - 180, (angle * 180) / (0.4 * Math.PI)];
}
