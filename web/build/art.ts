import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { geoContains } from 'd3-geo';
import { feature } from 'topojson-client';
import { fromMap, MAP_HEIGHT, MAP_WIDTH } from '../figures/map.js';

const require = createRequire(import.meta.url);
const folder = new URL('../generated/', import.meta.url);
const text = (path: string): string => readFileSync(require.resolve(path), 'utf8');

/** Distance between two dots, in map units. */
const STEP = 7;

/** Writes the images made from packages to web/generated: the icons in use, and the world's land areas. */
export function writeArt(): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('icons.svg', folder), icons());
  writeFileSync(new URL('world.svg', folder), world());
}

/**
 * Builds a single file of symbols from Lucide's icons (ISC licence). To use another icon, add its name to
 * web/icons.json.
 */
function icons(): string {
  const names = JSON.parse(readFileSync(new URL('../icons.json', import.meta.url), 'utf8')) as string[];
  const symbols = names.map((name) => {
    const [, inside = ''] = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(text(`lucide-static/icons/${name}.svg`)) ?? [];
    return `<symbol id="${name}" viewBox="0 0 24 24">${inside.replace(/\s*\n\s*/g, '')}</symbol>`;
  });
  return `<!-- Lucide, ISC --><svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`;
}

/** Draws the land as lines of dots, based on Natural Earth's outlines (public domain). */
function world(): string {
  const topology = JSON.parse(text('world-atlas/land-110m.json')) as { objects: { land: object } };
  const land = feature(topology, topology.objects.land);
  let dots = '';
  for (let row = 0; row * STEP < MAP_HEIGHT; row += 1) {
    // Every second line is shifted by half a step.
    for (let x = row % 2 === 0 ? STEP / 2 : STEP; x < MAP_WIDTH; x += STEP) {
      const y = row * STEP + STEP / 2;
      if (geoContains(land, fromMap(x, y))) dots += `M${x} ${y}h0`;
    }
  }
  return `<!-- Natural Earth, public domain --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${MAP_WIDTH} ${MAP_HEIGHT}"><path d="${dots}" fill="none" stroke="#000" stroke-width="4" stroke-linecap="round"/></svg>`;
}
