import sprite from '../generated/icons.svg?url';

interface Props {
  /** The icon's Lucide name, as in web/icons.json. */
  name: string;
}

/** An icon that repeats the meaning of the text next to it, in the same colour and at about the same size. */
export const Icon = ({ name }: Props) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <use href={`${sprite}#${name}`} />
  </svg>
);
