import { useSignal } from '@preact/signals';
import { InstanceLogs } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';

/** The last lines that the container wrote, read when asked for. */
export function Logs({ id }: { id: string }) {
  const text = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const read = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = null;
    try {
      const { instanceLogs } = await send(InstanceLogs, { id });
      text.value = (instanceLogs ?? []).map((line) => line.text).join('\n');
    } catch (fault) {
      error.value = fault;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <section class="panel padded stack-tight" aria-labelledby="logs">
      <div class="row between">
        <h2 id="logs">Log</h2>
        <button type="button" aria-disabled={isBusy.value} onClick={read}>
          {text.value === null ? 'Show the last lines' : 'Read again'}
        </button>
      </div>
      {text.value !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        <pre class="log mono small" tabIndex={0}>
          {text.value === '' ? 'It has written nothing yet.' : text.value}
        </pre>
      )}
      <Failure error={error.value} />
    </section>
  );
}
