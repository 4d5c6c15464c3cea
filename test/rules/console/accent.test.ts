import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';

type Rgb = readonly [red: number, green: number, blue: number];
const THEMES = ['light', 'dark'] as const;
const READABLE = 4.5;
/** Minimum contrast of graphics and focus rings (WCAG 1.4.11). */
const VISIBLE = 3;

const css = readFileSync(join(PACKAGE_ROOT, 'web/style/tokens.css'), 'utf8').replace(/\s+/g, ' ');

/** Returns a token's value in each theme, as written. */
function valuesOf(token: string): string[] {
  const [, inside = ''] = new RegExp(`--${token}: light-dark\\((.*?)\\);`).exec(css) ?? [];
  return inside.split(/,(?![^(]*\))/).map((each) => each.trim());
}

function parsed(hex: string): Rgb {
  const at = (place: number) => Number.parseInt(hex.slice(place, place + 2), 16) / 255;
  return [at(1), at(3), at(5)];
}

const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

function chromaAndHue(rgb: Rgb): [chroma: number, hue: number] {
  const [r, g, b] = rgb.map(linear) as unknown as Rgb;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const y = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return [Math.hypot(a, y), Math.atan2(y, a)];
}

/** Returns the linear colour of an OKLCH colour. Browsers clip components that a screen can't show. */
function linearOf(lightness: number, chroma: number, hue: number): Rgb {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clipped = (value: number) => Math.min(1, Math.max(0, value));
  return [
    clipped(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clipped(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clipped(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

const luminance = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

/** Returns the luminance of a token's value, given the operator's colour. */
function luminanceOf(value: string, brand: Rgb): number {
  if (value.startsWith('#')) return luminance(parsed(value).map(linear) as unknown as Rgb);
  const [, lightness, factor = '1'] =
    /^oklch\(from var\(--brand\) ([\d.]+) (?:c|calc\(c \* ([\d.]+)\)) h\)$/.exec(value) ?? [];
  if (lightness === undefined) throw new Error(`unknown colour ${value}`);
  const [chroma, hue] = chromaAndHue(brand);
  return luminance(linearOf(Number(lightness), chroma * Number(factor), hue));
}

const contrast = (one: number, other: number) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);

/** Colours on a grid that includes the corners of the colour space, and random ones. */
function* colours(): Generator<Rgb> {
  const steps = [0, 0.2, 0.4, 0.6, 0.8, 1];
  for (const r of steps) for (const g of steps) for (const b of steps) yield [r, g, b];
  for (let count = 0; count < 2_000; count += 1) yield [Math.random(), Math.random(), Math.random()];
}

it('keeps text in the accent and on it legible with any colour of the operator', () => {
  const texts = [
    ['accent', 'ground', READABLE],
    ['accent', 'surface', READABLE],
    ['accent', 'raised', READABLE],
    ['accent', 'overlay', READABLE],
    ['accent', 'accent-soft', READABLE],
    ['text', 'accent-soft', READABLE],
    ['quiet', 'accent-soft', READABLE],
    ['on-ink', 'ink', READABLE],
    ['accent-ground', 'surface', VISIBLE],
    ['accent-ground', 'ground', VISIBLE],
  ] as const;
  const pairs = texts.flatMap(([text, ground, least]) =>
    THEMES.map((theme, place) => {
      const values = [valuesOf(text)[place]!, valuesOf(ground)[place]!] as const;
      return { pair: `${text} on ${ground}, ${theme}`, values, least, ratio: Number.POSITIVE_INFINITY, brand: '' };
    }),
  );
  for (const brand of colours())
    for (const pair of pairs) {
      const [one, other] = pair.values;
      const ratio = contrast(luminanceOf(one, brand), luminanceOf(other, brand));
      if (ratio < pair.ratio) Object.assign(pair, { ratio, brand: brand.join(' ') });
    }
  expect(pairs.filter(({ ratio, least }) => ratio < least)).toEqual([]);
});
