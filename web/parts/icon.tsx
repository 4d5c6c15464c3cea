import sprite from '../generated/icons.svg?url';

interface Props {
  /** The Lucide name of an icon in web/icons.json. */
  name: string;
}

/** An icon that repeats the text next to it, in its colour and at about its size. */
export const Icon = ({ name }: Props) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <use href={`${sprite}#${name}`} />
  </svg>
);
