import { SetMonthlyLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts } from '../texts/en/month-limit.js';
import { Limit } from './limit.js';

/** Shows and changes the account's monthly spending limit. */
export function MonthLimit({ account, onChanged }: { account: MoneyRead['account']; onChanged(): void }) {
  return (
    <section class="panel padded stack-tight" aria-labelledby="month-limit">
      <h2 id="month-limit">{texts.title}</h2>
      <p class="small quiet">{texts.what}</p>
      {account !== null && (
        <Limit
          label={texts.label}
          usedText={texts.used}
          limit={account.monthlyLimit}
          used={account.monthSpend}
          reachedAt={account.limitReachedAt}
          set={(usd) => send(SetMonthlyLimit, { monthlyLimit: usd })}
          onChanged={onChanged}
        />
      )}
    </section>
  );
}
