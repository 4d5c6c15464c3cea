import { useSignal } from '@preact/signals';
import { micro, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { Failure } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { serverNow } from '../state/clock.js';
import { say } from '../state/toasts.js';

interface Props {
  /** In USD; null: there is none. */
  limit: number | null;
  /** In USD. */
  used: number | null;
  /** When it is reached, or was. */
  reachedAt: string | null;
  /** What was used, such as `spent this month`. */
  words: string;
  /** What is limited, for whoever hears the page. */
  label: string;
  set(usd: number | null): Promise<unknown>;
  onChanged(): void;
}

/** A spend limit: what is set, what of it is used, and when it is reached; set, changed and taken away. */
export function Limit({ limit, used, reachedAt, words, label, set, onChanged }: Props) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const change = async (to: number | null): Promise<boolean> => {
    if (isBusy.value) return false;
    isBusy.value = true;
    error.value = null;
    const before = limit;
    try {
      await set(to);
      const undo = { run: () => set(before).finally(onChanged), done: 'The limit is as it was before.' };
      say(to === null ? 'The limit is taken away.' : 'The limit is set.', { undo });
      return true;
    } catch (fault) {
      error.value = fault;
      return false;
    } finally {
      isBusy.value = false;
      onChanged();
    }
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const typed = String(new FormData(form).get('usd'));
    if (typed !== '' && (await change(Number(typed)))) form.reset();
  };
  const reached = reachedAt === null ? null : secondsOf(reachedAt);
  return (
    <div class="stack-tight" data-limit={label}>
      {limit === null ? (
        <p class="quiet">No limit.</p>
      ) : (
        <>
          <p class="row between">
            <span>
              <strong class="figure">{usd(micro(used ?? 0), 2)}</strong> of {usd(micro(limit), 2)} USD {words}
            </span>
            <button type="button" class="plain" onClick={() => void change(null)}>
              Take the limit away
            </button>
          </p>
          <p class="small quiet">
            {reached === null ? (
              'Not reached at the present rates.'
            ) : (
              <>
                {reached <= serverNow.value ? 'It was reached' : 'It is reached'} <Time at={reached} />: what runs under
                it stops at that second.
              </>
            )}
          </p>
        </>
      )}
      <form class="row" onSubmit={submit}>
        <label class="row">
          <span class="quiet small">{label}, USD</span>
          <input name="usd" type="number" min={0} step="any" inputMode="decimal" required />
        </label>
        <button type="submit" aria-disabled={isBusy.value}>
          {limit === null ? 'Set a limit' : 'Change it'}
        </button>
      </form>
      <Failure error={error.value} />
    </div>
  );
}
