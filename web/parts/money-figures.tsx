import { micro, usd } from '../figures/money.js';
import { statusOf } from '../figures/status.js';
import { balanceNow, figures, monthSpendNow, settled } from '../state/account.js';
import { forecast } from '../state/forecast.js';
import { texts } from '../texts/en/balance.js';
import { Amount } from './amount.js';
import { RunsOut } from './runs-out.js';

interface Props {
  /** Number of volumes. */
  volumes: number;
  /** The monthly limit in USD. Null means no limit. */
  limit: number | null;
}

/** Shows the balance, the current cost and the month. Each figure has one detail below it. */
export function MoneyFigures({ volumes, limit }: Props) {
  const known = figures.value;
  if (known === null) return null;
  const instances = settled.value?.instances ?? [];
  const count = (status: string) => instances.filter((instance) => statusOf(instance) === status).length;
  const missing = forecast.value?.missing ?? 0n;
  const spent = monthSpendNow.value;
  // A new account's empty balance isn't a problem yet.
  const isOver = balanceNow.value <= 0n && instances.length + volumes > 0;
  const all = [
    ['balance', balanceNow.value, <RunsOut />],
    ['burn', known.burn, texts.paidFor(count('running'), count('stopped'), volumes)],
    ['month', spent, limit === null ? texts.noLimit : texts.ofLimit(usd(micro(limit)))],
    [
      'forecast',
      forecast.value?.total ?? 0n,
      known.burn === 0n
        ? texts.atThisCost
        : missing === 0n
          ? texts.covered
          : texts.missing(
              <span class="figure warn" data-figure="missing">
                {usd(missing)} USD
              </span>,
            ),
    ],
  ] as const;
  return (
    <dl class="home-figures">
      {all.map(([name, amount, detail]) => (
        <div key={name}>
          <dt class="small quiet">{texts.figures[name]}</dt>
          <dd class={`headline${name === 'balance' && isOver ? ' bad' : ''}`} data-figure={name}>
            <Amount of={amount} unit={name === 'burn' ? 'USD/h' : 'USD'} />
          </dd>
          <dd class="small quiet">
            {detail}
            {name === 'month' && limit !== null && (
              <progress aria-label={texts.limitUse} max={limit} value={Number(spent) / 1e6} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
