import { useEffect, useLayoutEffect } from 'preact/hooks';
import { timeToSecond } from '../figures/time.js';
import { Money as MoneyDocument } from '../graph/documents.js';
import { Balance } from '../parts/balance.js';
import { Failure } from '../parts/notice.js';
import { figures, figuresOf, reading, sumsAge } from '../state/account.js';
import { serverDay } from '../state/clock.js';
import { readSheet, sheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/money.js';
import { screens } from '../texts/en/screens.js';
import { MAX_NAMES, Month } from './month.js';
import { MonthLimit } from './month-limit.js';
import { firstDay, NAMED, Spend } from './spend.js';
import { chosenMonth, periodOf, Statement } from './statement.js';
import { TopUps, useTopUps } from './top-ups.js';

/**
 * The Billing screen. Everything on it refers to the same second, which is displayed, because daily sums and a
 * statement can't be projected between two responses.
 */
export function Money() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  useTitle(screens['/billing']);
  const variables = {
    days: firstDay(),
    named: NAMED,
    month: `${serverDay.value.slice(0, 7)}-01`,
    names: MAX_NAMES,
    ...periodOf(chosenMonth()),
  };
  const { data, error, again } = useRead(MoneyDocument, variables, sumsAge);
  const read = data.value;
  const account = read?.account ?? null;
  useLayoutEffect(() => {
    reading.value = account && figuresOf(account);
    return () => {
      reading.value = null;
    };
  }, [account]);
  const topUps = useTopUps();
  // All parts appear at once, because later ones would move content that the user is already reading.
  const isAnswered = [read ?? error.value, topUps.data.value ?? topUps.error.value].every((answer) => answer !== null);
  const known = figures.value;
  return (
    <div class="stack">
      <div class="stack-tight">
        <h1 tabIndex={-1}>{screens['/billing']}</h1>
        {account !== null && <p class="small quiet">{texts.asOf(timeToSecond(figuresOf(account).asOf))}</p>}
      </div>
      {isAnswered && known !== null ? (
        <>
          <Balance known={known} />
          <Failure error={error.value} />
          <TopUps read={topUps} />
          <MonthLimit account={account} onChanged={again} />
          <Month read={read} />
          <Spend spent={read?.days ?? null} />
          <Statement stated={read?.statement ?? null} />
        </>
      ) : (
        <p class="quiet">{texts.reading}</p>
      )}
    </div>
  );
}
