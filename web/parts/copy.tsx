import { useSignal } from '@preact/signals';
import { texts } from '../texts/en/house.js';

/** Copies a text; without a clipboard, which browsers keep from pages without TLS, it shows how. */
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
