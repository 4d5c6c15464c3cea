import sprite from '../generated/icons.svg?url';

interface Props {
  /** One of web/icons.json, by its Lucide name. */
  name: string;
}

/** Repeats the text next to it, in its colour and about its size. */
export const Icon = ({ name }: Props) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <use href={`${sprite}#${name}`} />
  </svg>
);
