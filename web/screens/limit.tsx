import { micro } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { Amount } from '../parts/amount.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { LocalTime } from '../parts/local-time.js';
import { serverNow } from '../state/clock.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/limit.js';

interface Props {
  title: string;
  /** Explains what happens when the limit is reached. */
  hint: string;
  /** The limit's accessible name. */
  label: string;
  /** The limit in USD. Null means that there is no limit. */
  limit: number | null;
  set(usd: number | null): Promise<unknown>;
  onChanged(): void;
  onClose(): void;
}

/** A dialog that sets, changes and removes a spending limit. */
export function LimitDialog({ title, hint, label, limit, set, onChanged, onClose }: Props) {
  const change = async (typed: FormData) => {
    const text = String(typed.get('usd'));
    const after = text === '' ? null : Number(text);
    if (after === limit) return;
    await set(after);
    const undo = { run: () => set(limit).finally(onChanged), done: texts.restored };
    say(after === null ? texts.isRemoved : texts.isSet, { undo });
  };
  return (
    <EditDialog title={title} change={change} onTried={onChanged} onClose={onClose}>
      <p>{hint}</p>
      <label class="field">
        <span>{texts.inUsd(label)}</span>
        <input
          name="usd"
          type="number"
          min={0}
          step="any"
          inputMode="decimal"
          placeholder={texts.none}
          defaultValue={String(limit ?? '')}
        />
      </label>
    </EditDialog>
  );
}

interface UseProps {
  /** Both in USD. */
  limit: number;
  used: number | null;
  /** Describes the amount used, such as `spent this month`. */
  usedText: string;
}

/** Shows how much of a limit is used. */
export const LimitUse = ({ limit, used, usedText }: UseProps) => (
  <span>{texts.used(<Amount of={micro(used ?? 0)} />, <Amount of={micro(limit)} unit="USD" />, usedText)}</span>
);

/** Shows when a limit was or will be reached. */
export function LimitReached({ at, of }: { at: string | null; of: 'ofInstance' | 'ofMonth' }) {
  const reached = at === null ? null : secondsOf(at);
  return (
    <p class="small quiet">
      {reached === null
        ? texts.notReached
        : reached <= serverNow.value
          ? texts[of].wasReached(<LocalTime at={reached} />)
          : texts[of].isReached(<LocalTime at={reached} />)}
    </p>
  );
}
