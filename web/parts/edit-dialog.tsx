import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/house.js';
import { Dialog } from './dialog.js';
import { Failure } from './notice.js';

interface Props {
  title: string;
  /** The submit button's label. */
  submitLabel?: string;
  isDanger?: boolean;
  /** Whether the fields are shown yet, so that the change can be made. */
  isReady?: boolean;
  /** Makes the change. The key ensures that the change is made only once, no matter how often it is sent. */
  change(typed: FormData, idempotencyKey: string): Promise<unknown>;
  /** Called after each attempt, because a change may have been made even if there was no response. */
  onTried?(): void;
  onClose(): void;
  children: ComponentChildren;
}

/**
 * A dialog that changes what its screen only shows. It closes once the change is made, and otherwise shows the reason.
 */
export function EditDialog({
  title,
  submitLabel = texts.save,
  isDanger = false,
  isReady = true,
  change,
  onTried,
  onClose,
  children,
}: Props) {
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const { isBusy, error, run } = useWork(onTried);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget as HTMLFormElement);
    if (isReady && (await run(() => change(typed, idempotencyKey)))) onClose();
  };
  return (
    <Dialog title={title} isNarrow onClose={onClose}>
      <form onSubmit={submit}>
        <div class="dialog-body stack">
          {children}
          <Failure error={error.value} />
        </div>
        <div class="dialog-end">
          <button type="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" class={isDanger ? 'danger' : 'primary'} aria-disabled={isBusy.value || !isReady}>
            {submitLabel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
