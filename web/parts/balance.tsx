import type { ComponentChildren } from 'preact';
import { type Micro, usd } from '../figures/money.js';
import { balanceNow, type Figures } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { forecast } from '../state/forecast.js';
import { texts } from '../texts/en/balance.js';
import { Amount } from './amount.js';
import { Time } from './time.js';

const SECONDS_PER_DAY = 86_400;

/** The balance as a headline. */
export const BalanceFigure = () => (
  <Headline name="balance" label={texts.balance} isBad={balanceNow.value <= 0n}>
    <Amount of={balanceNow.value} unit="USD" />
  </Headline>
);

interface HeadlineProps {
  name: string;
  label: string;
  isBad?: boolean;
  children: ComponentChildren;
}

/** One of the largest figures of a screen. */
export const Headline = ({ name, label, isBad = false, children }: HeadlineProps) => (
  <div>
    <p class="quiet small">{label}</p>
    <p class={`headline figure${isBad ? ' bad' : ''}`} data-figure={name}>
      {children}
    </p>
  </div>
);

/** Shows in a sentence how long the credit lasts and how much is missing for the month. */
export function Outlook({ known }: { known: Figures }) {
  if (balanceNow.value <= 0n && known.diskDeleteAt !== null)
    return <p class="notice bad">{texts.over(<Time at={known.diskDeleteAt} />)}</p>;
  const missing = forecast.value?.missing ?? 0n;
  return (
    <p>
      {known.burn === 0n ? texts.nothingCosts : <Lasts of={known} />}
      {missing > 0n && <Missing amount={missing} />}
    </p>
  );
}

/** Shows how long the credit lasts at the current burn rate. */
function Lasts({ of: { exhaustsAt, diskDeleteAt } }: { of: Figures }) {
  if (exhaustsAt === null) return texts.lastsForYears;
  if (exhaustsAt <= serverNow.value) return texts.ranOut;
  return texts.runsOut(
    <Time at={exhaustsAt} />,
    Math.ceil(((diskDeleteAt ?? exhaustsAt) - exhaustsAt) / SECONDS_PER_DAY),
  );
}

const Missing = ({ amount }: { amount: Micro }) => (
  <>
    {' '}
    {texts.missing(
      <strong class="figure" data-figure="missing">
        {usd(amount)} USD
      </strong>,
    )}
  </>
);
