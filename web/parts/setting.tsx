import type { ComponentChildren } from 'preact';
import { texts } from '../texts/en/house.js';

interface Props {
  name: string;
  /** The current value. */
  children: ComponentChildren;
  onEdit(): void;
  /** The setting's other actions. */
  more?: ComponentChildren;
}

/** A line of a definition list: a setting, its value, and a button that opens the dialog to edit it. */
export const Setting = ({ name, children, onEdit, more }: Props) => (
  <div class="setting">
    <dt>{name}</dt>
    <dd class="setting-value">{children}</dd>
    <dd class="setting-actions">
      <button type="button" aria-label={texts.editOf(name)} onClick={onEdit}>
        {texts.edit}
      </button>
      {more}
    </dd>
  </div>
);
