import { useSignal } from '@preact/signals';

/** Copies a text; without a clipboard, which browsers keep from pages without TLS, it says how. */
export function Copy({ text, label = 'Copy', onCopied }: { text: string; label?: string; onCopied?: () => void }) {
  const said = useSignal('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = 'Copied';
      onCopied?.();
    } catch {
      said.value = 'Select the text and copy it yourself';
    }
  };
  return (
    <span class="row">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status" class="small quiet">
        {said}
      </span>
    </span>
  );
}
