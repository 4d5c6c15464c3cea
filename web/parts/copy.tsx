import { useSignal } from '@preact/signals';
import { texts } from '../texts/en/house.js';

/**
 * A button that copies text. Pages without TLS have no access to the clipboard, so there it shows how to copy the text
 * manually.
 */
export function Copy({ text, label = texts.copy, onCopied }: { text: string; label?: string; onCopied?: () => void }) {
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
  return (
    <span class="row">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status" class="small quiet">
        {status}
      </span>
    </span>
  );
}
