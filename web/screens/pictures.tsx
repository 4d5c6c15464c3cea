import sprite from '../pictures.svg?url';

/** The colour of each picture in pictures.svg. Templates for the same purpose share one. */
const TONES: Readonly<Record<string, string>> = {
  bolt: 'a',
  box: 'e',
  chat: 'a',
  chip: 'c',
  code: 'd',
  flame: 'c',
  image: 'b',
  layers: 'c',
  nodes: 'b',
  notebook: 'd',
  scene: 'b',
  server: 'a',
  spark: 'c',
  terminal: 'e',
  tune: 'a',
};

/** The picture next to a template's title, which is only decorative. */
export function Picture({ name }: { name: string }) {
  const known = Object.hasOwn(TONES, name) ? name : 'box';
  return (
    <svg class={`picture tone-${TONES[known]}`} viewBox="0 0 20 20" aria-hidden="true">
      <use href={`${sprite}#${known}`} />
    </svg>
  );
}
