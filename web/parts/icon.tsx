import sprite from '../generated/icons.svg?url';

interface Props {
  /** One of web/icons.json, as Lucide calls it. */
  name: string;
}

/** Says nothing that the words beside it do not; in the colour and about the size of the text. */
export const Icon = ({ name }: Props) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <use href={`${sprite}#${name}`} />
  </svg>
);
