import { MAP_HEIGHT, MAP_WIDTH, onMap } from '../figures/map.js';
import world from '../generated/world.svg?url';
import { regions } from '../state/market.js';
import { texts } from '../texts/en/map.js';

interface Props {
  /** Number of free GPUs by region. */
  free: ReadonlyMap<string, number>;
  /** Whether it is only a picture, without links. */
  isPicture?: boolean;
}

/** Radius of the largest region's circle, in map units. */
const LARGEST = 17;
const SMALLEST = 5;

/**
 * Shows the regions. Each has a circle that is sized by its number of free GPUs and, except in a picture, links to its
 * machines.
 */
export function WorldMap({ free, isPicture = false }: Props) {
  const most = Math.max(1, ...free.values());
  const shown = [...regions.value.values()].filter(({ code }) => (free.get(code) ?? 0) > 0);
  return (
    <div class="map">
      <img src={world} alt="" width={MAP_WIDTH} height={MAP_HEIGHT} />
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: each place in it has a title of its own */}
      <svg viewBox={`0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`} aria-hidden={isPicture}>
        {shown.map(({ code, name, latitude, longitude }) => {
          const gpus = free.get(code)!;
          const [x, y] = onMap(latitude, longitude);
          const radius = SMALLEST + Math.sqrt(gpus / most) * (LARGEST - SMALLEST);
          const label = texts.free(name, gpus);
          const circles = (
            <>
              <circle class="around" cx={x} cy={y} r={radius} />
              <circle class="place" cx={x} cy={y} r="3.5" />
            </>
          );
          return isPicture ? (
            <g key={code}>{circles}</g>
          ) : (
            <a key={code} href={`/machines?region=${encodeURIComponent(code)}`} aria-label={label}>
              <title>{label}</title>
              {circles}
            </a>
          );
        })}
      </svg>
    </div>
  );
}
