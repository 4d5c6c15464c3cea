import { useSignal } from '@preact/signals';
import { texts } from '../texts/en/house.js';
import { Icon } from './icon.js';

interface Props {
  text: string;
  label?: string;
  /** Whether the button shows an icon instead of its label. */
  isIcon?: boolean;
  onCopied?(): void;
}

/**
 * A button that copies text. Pages without TLS have no access to the clipboard, so there it shows how to copy the text
 * manually.
 */
export function Copy({ text, label = texts.copy, isIcon = false, onCopied }: Props) {
  const status = useSignal('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      status.value = texts.copied;
      onCopied?.();
    } catch {
      status.value = texts.copyYourself;
    }
  };
  const isCopied = status.value === texts.copied;
  return (
    <span class="row">
      {isIcon ? (
        <button type="button" class="ghost copy-icon" aria-label={label} title={label} onClick={copy}>
          <Icon name={isCopied ? 'check' : 'copy'} />
        </button>
      ) : (
        <button type="button" onClick={copy}>
          {label}
        </button>
      )}
      <span role="status" class={isIcon && isCopied ? 'hidden' : 'small quiet'}>
        {status}
      </span>
    </span>
  );
}
