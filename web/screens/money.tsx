import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { timeToSecond } from '../figures/time.js';
import { Money as MoneyDocument } from '../graph/documents.js';
import { MoneyFigures } from '../parts/money-figures.js';
import { Failure } from '../parts/notice.js';
import { OperatorContact } from '../parts/operator-contact.js';
import { Outlook } from '../parts/outlook.js';
import { figures, figuresOf, reading, sumsAge } from '../state/account.js';
import { useSheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { operatorContact } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { texts as balance } from '../texts/en/balance.js';
import { texts } from '../texts/en/money.js';
import { screens } from '../texts/en/screens.js';
import { texts as topUpTexts } from '../texts/en/top-ups.js';
import { BillingSettings } from './billing-settings.js';
import { MAX_NAMES, Month, MonthLimit, spendPeriod } from './month.js';
import { Statement, statedPeriod } from './statement.js';
import { AddCredit, PastTopUps, PendingTopUps, useTopUps } from './top-ups.js';

/**
 * The Billing screen: the credit first, then this month, then the past, then the settings. Everything on it refers to
 * the same second, which is displayed, because daily sums and a statement can't be projected between two responses.
 */
export function Money() {
  useSheet();
  useTitle(screens['/billing']);
  const variables = { ...spendPeriod(), names: MAX_NAMES, ...statedPeriod() };
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
  const isAdding = useSignal(false);
  // All parts appear at once, because later ones would move content that the user is already reading.
  const isAnswered = [read ?? error.value, topUps.data.value ?? topUps.error.value].every((answer) => answer !== null);
  const known = figures.value;
  const assets = topUps.data.value?.topUpAssets ?? [];
  const all = topUps.data.value?.topUps ?? [];
  return (
    <div class="stack">
      <div class="row between billing-head">
        <div class="title-line">
          <h1 tabIndex={-1}>{screens['/billing']}</h1>
          {account !== null && <p class="small quiet">{texts.asOf(timeToSecond(figuresOf(account).asOf))}</p>}
        </div>
        {assets.length > 0 && (
          <button
            type="button"
            class="primary"
            onClick={() => {
              isAdding.value = true;
            }}
          >
            {topUpTexts.title}
          </button>
        )}
      </div>
      {isAnswered && known !== null ? (
        <>
          <section class="panel" aria-label={balance.balance}>
            <MoneyFigures volumes={read?.volumes?.length ?? 0} limit={account?.monthlyLimit ?? null} />
            <div class="outlook small quiet">
              <Outlook known={known} />
              {account !== null && <MonthLimit account={account} />}
              {topUps.data.value !== null && assets.length === 0 && (
                <p>{topUpTexts.noPayments(operatorContact.value && <OperatorContact account={account?.id} />)}</p>
              )}
              <Failure error={topUps.error.value} />
            </div>
            <PendingTopUps of={all} />
          </section>
          <Failure error={error.value} />
          <Month read={read} />
          <Statement
            stated={read?.statement ?? null}
            rented={read?.stated?.instances ?? []}
            volumes={read?.volumes ?? []}
          >
            <PastTopUps of={all} />
          </Statement>
          {read !== null && <BillingSettings read={read} onChanged={again} />}
        </>
      ) : (
        <p class="quiet">{texts.reading}</p>
      )}
      {isAdding.value && (
        <AddCredit
          assets={assets}
          onTried={topUps.again}
          onClose={() => {
            isAdding.value = false;
          }}
        />
      )}
    </div>
  );
}
