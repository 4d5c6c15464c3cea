import type { RefObject } from 'preact';

interface Props {
  chooser: RefObject<HTMLInputElement | null>;
  label: string;
  onChosen(files: readonly File[]): void;
}

/** The unseen field that a button clicks so that the user can choose files. */
export const FileChooser = ({ chooser, label, onChosen }: Props) => (
  <input
    ref={chooser}
    type="file"
    multiple
    hidden
    aria-label={label}
    onChange={({ currentTarget }) => {
      onChosen([...(currentTarget.files ?? [])]);
      // This allows the user to choose the same file again.
      currentTarget.value = '';
    }}
  />
);
