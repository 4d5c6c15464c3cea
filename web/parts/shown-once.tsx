import { texts } from '../texts/en/house.js';
import { Copy } from './copy.js';
import { Dialog } from './dialog.js';

interface Props {
  title: string;
  secret: string;
  copyLabel: string;
  onClose(): void;
}

/** A dialog with a secret that the service doesn't show again. */
export const ShownOnce = ({ title, secret, copyLabel, onClose }: Props) => (
  <Dialog title={title} isNarrow onClose={onClose}>
    <div class="dialog-body stack">
      <p>{texts.shownOnce}</p>
      <code class="secret">{secret}</code>
      <Copy text={secret} label={copyLabel} />
    </div>
    <div class="dialog-end">
      <button type="button" class="primary" onClick={onClose}>
        {texts.haveIt}
      </button>
    </div>
  </Dialog>
);
