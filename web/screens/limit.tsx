import { micro, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { Amount } from '../parts/amount.js';
import { LocalTime } from '../parts/local-time.js';
import { Failure } from '../parts/notice.js';
import { serverNow } from '../state/clock.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/limit.js';

interface Props {
  /** The limit in USD, or null if there is none. */
  limit: number | null;
  /** The amount used, in USD. */
  used: number | null;
  /** When the limit will be reached, or was. */
  reachedAt: string | null;
  /** Describes the amount used, such as `spent this month`. */
  usedText: string;
  /** The limit's accessible name. */
  label: string;
  set(usd: number | null): Promise<unknown>;
  onChanged(): void;
}

/**
 * Shows a spending limit, the amount used and when the limit is reached. The user can set, change and remove the limit.
 */
export function Limit({ limit, used, reachedAt, usedText, label, set, onChanged }: Props) {
  const { isBusy, error, run } = useWork(onChanged);
  const change = (to: number | null): Promise<boolean> =>
    run(async () => {
      const before = limit;
      await set(to);
      const undo = { run: () => set(before).finally(onChanged), done: texts.restored };
      say(to === null ? texts.isRemoved : texts.isSet, { undo });
    });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const typed = String(new FormData(form).get('usd'));
    if (typed !== '' && (await change(Number(typed)))) form.reset();
  };
  return (
    <div class="stack-tight" data-limit={label}>
      {limit === null ? (
        <p class="quiet">{texts.none}</p>
      ) : (
        <>
          <p class="row between">
            <LimitUse limit={limit} used={used} usedText={usedText} />
            <button type="button" class="plain" onClick={() => void change(null)}>
              {texts.remove}
            </button>
          </p>
          <LimitReached at={reachedAt} />
        </>
      )}
      <form class="row" onSubmit={submit}>
        <label class="row">
          <span class="quiet small">{texts.inUsd(label)}</span>
          <input name="usd" type="number" min={0} step="any" inputMode="decimal" required />
        </label>
        <button type="submit" aria-disabled={isBusy.value}>
          {limit === null ? texts.set : texts.change}
        </button>
      </form>
      <Failure error={error.value} />
    </div>
  );
}

/** Shows how much of a limit is used. */
export const LimitUse = ({ limit, used, usedText }: { limit: number } & Pick<Props, 'used' | 'usedText'>) => (
  <span>{texts.used(<Amount of={micro(used ?? 0)} />, usd(micro(limit)), usedText)}</span>
);

/** Shows when a limit will be reached, or was. */
export function LimitReached({ at }: { at: string | null }) {
  const reached = at === null ? null : secondsOf(at);
  return (
    <p class="small quiet">
      {reached === null
        ? texts.notReached
        : reached <= serverNow.value
          ? texts.wasReached(<LocalTime at={reached} />)
          : texts.isReached(<LocalTime at={reached} />)}
    </p>
  );
}
