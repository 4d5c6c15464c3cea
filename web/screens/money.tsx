import { useEffect } from 'preact/hooks';
import { Balance } from '../parts/balance.js';
import { settled } from '../state/account.js';
import { readSheet, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/money.js';
import { Month } from './month.js';
import { MonthLimit } from './month-limit.js';
import { Spend } from './spend.js';
import { Statement } from './statement.js';
import { TopUps } from './top-ups.js';

export function Money() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  useTitle(texts.title);
  const known = settled.value;
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.title}</h1>
      {known === null ? <p class="quiet">{texts.reading}</p> : <Balance known={known} />}
      <TopUps />
      <MonthLimit />
      <Month />
      <Spend />
      <Statement />
    </div>
  );
}
