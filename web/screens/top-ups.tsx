import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { micro, usd } from '../figures/money.js';
import { number } from '../figures/number.js';
import { hoursMinutesSeconds, secondsOf } from '../figures/time.js';
import { CreateTopUp, TopUps as TopUpsDocument } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { Amount } from '../parts/amount.js';
import { Copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Facts } from '../parts/facts.js';
import { Fold } from '../parts/fold.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/top-ups.js';

type Answer = ResultOf<typeof TopUpsDocument>;
type Asset = NonNullable<Answer['topUpAssets']>[number];
type TopUp = NonNullable<Answer['topUps']>[number];

export const useTopUps = () => useRead(TopUpsDocument, {}, accountChanges);

/** States in which money may still arrive or a payment isn't credited yet. */
const PENDING: readonly TopUp['state'][] = ['WAITING', 'SEEN', 'CONFIRMING', 'QUARANTINED'];

const isPending = ({ state }: TopUp): boolean => PENDING.includes(state);

const show = (id: string) => () => setQuery({ 'top-up': id });

/** Lists the top-ups that aren't credited yet, and shows the one whose id is in the URL. */
export function PendingTopUps({ of: all }: { of: readonly TopUp[] }) {
  const pending = all.filter(isPending);
  const shown = all.find(({ id }) => id === query.value.get('top-up'));
  return (
    <>
      {pending.length > 0 && (
        <ul class="in-flight" aria-label={texts.pending}>
          {pending.map((topUp) => (
            <li key={topUp.id}>
              <span>
                <strong>
                  <Amount of={micro(topUp.usd)} unit="USD" />
                </strong>{' '}
                <span class="quiet">{`${topUp.amount} ${topUp.coin}`}</span>
              </span>
              <Progress of={topUp} />
              <span class="quiet in-flight-age">
                <Ago at={secondsOf(topUp.createdAt)} />
              </span>
              <button type="button" onClick={show(topUp.id)}>
                {topUp.state === 'WAITING' ? texts.payNow : texts.show}
              </button>
            </li>
          ))}
        </ul>
      )}
      {shown !== undefined && <Pay topUp={shown} />}
    </>
  );
}

/** Lists the top-ups that were credited or have expired. */
export function PastTopUps({ of: all }: { of: readonly TopUp[] }) {
  const past = all.filter((topUp) => !isPending(topUp));
  if (past.length === 0) return null;
  return (
    <div class="panel-fold">
      <Fold title={texts.caption} summary={number(past.length)}>
        <Table
          isCards
          class="listing"
          caption={texts.caption}
          columns={[
            [texts.toPay],
            [texts.state],
            [texts.requestedAt],
            [texts.requested, 'number'],
            [texts.credited, 'number'],
          ]}
        >
          {past.map((topUp) => (
            <tr key={topUp.id}>
              <th scope="row">
                <button type="button" class="plain" onClick={show(topUp.id)}>
                  {topUp.amount} {topUp.coin}
                </button>
              </th>
              <td class="card-start">
                <span title={texts.states[topUp.state]}>
                  <Progress of={topUp} />
                </span>
              </td>
              <td class="no-card">
                <Ago at={secondsOf(topUp.createdAt)} />
              </td>
              <td class="number no-card">
                <Amount of={micro(topUp.usd)} />
              </td>
              <td class="number">
                <Amount of={micro(topUp.credited)} />
              </td>
            </tr>
          ))}
        </Table>
      </Fold>
    </div>
  );
}

const TONES: Record<TopUp['state'], string> = {
  WAITING: 'warn',
  SEEN: 'pending',
  CONFIRMING: 'pending',
  QUARANTINED: 'warn',
  CREDITED: 'good',
  UNDERPAID: 'warn',
  OVERPAID: 'good',
  LATE: 'good',
  EXPIRED: '',
};

/** Shows the state in one word, with the number of confirmations while there is one. */
const Progress = ({ of: { state, confirmations, confirmationsNeeded } }: { of: TopUp }) => (
  <span class="row">
    <span class={`badge ${TONES[state]}`}>{texts.words[state]}</span>
    {state === 'CONFIRMING' && confirmations !== null && (
      <span class="small quiet">{texts.confirmations(confirmations, confirmationsNeeded)}</span>
    )}
  </span>
);

interface AddCreditProps {
  assets: readonly Asset[];
  /** Called after each attempt, because a top-up may exist even if there was no response. */
  onTried(): void;
  onClose(): void;
}

/** A dialog that requests an address to pay credit to in cryptocurrency. */
export function AddCredit({ assets, onTried, onClose }: AddCreditProps) {
  const asset = useSignal(assets[0]!.code);
  const typedUsd = useSignal('20');
  // A different amount is a new request, but repeating one whose response was lost is not.
  const idempotencyKey = useMemo(newIdempotencyKey, [asset.value, typedUsd.value]);
  const create = async () => {
    const input = { asset: asset.value, usd: Number(typedUsd.value), idempotencyKey };
    const { createTopUp } = await send(CreateTopUp, { input });
    if (createTopUp !== null) setQuery({ 'top-up': createTopUp.id });
  };
  const chosen = assets.find(({ code }) => code === asset.value);
  return (
    <EditDialog title={texts.title} submitLabel={texts.request} change={create} onTried={onTried} onClose={onClose}>
      <div class="two">
        <label class="field">
          <span>{texts.usd}</span>
          <input
            type="number"
            name="usd"
            min={String(chosen?.minimum ?? 5)}
            step="0.01"
            inputMode="decimal"
            required
            value={typedUsd}
            onInput={({ currentTarget }) => {
              typedUsd.value = currentTarget.value;
            }}
          />
        </label>
        <label class="field">
          <span>{texts.payIn}</span>
          <select
            value={asset.value}
            onChange={({ currentTarget }) => {
              asset.value = currentTarget.value;
            }}
          >
            {assets.map(({ code, coin, network }) => (
              <option key={code} value={code}>
                {texts.coinOn(coin, network)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {chosen !== undefined && (
        <p class="small quiet">{texts.terms(usd(micro(chosen.minimum)), chosen.confirmations)}</p>
      )}
    </EditDialog>
  );
}

function Pay({ topUp }: { topUp: TopUp }) {
  const { amount, coin, network, address, uri, expiresAt, state, confirmations, confirmationsNeeded } = topUp;
  const left = secondsOf(expiresAt) - serverNow.value;
  return (
    <Dialog title={texts.pay(amount, coin)} isNarrow onClose={() => setQuery({ 'top-up': null })}>
      <div class="dialog-body stack">
        <p role="status">
          <span class={`badge ${TONES[state]}`}>{texts.states[state]}</span>
          {confirmations !== null && ` ${texts.confirmations(confirmations, confirmationsNeeded)}`}
        </p>
        <Qr text={uri} />
        <Facts
          of={[
            [texts.exactly, <span class="mono">{`${amount} ${coin}`}</span>],
            [texts.network, <strong>{network}</strong>],
            [
              texts.promisedUntil,
              <>
                <Time at={secondsOf(expiresAt)} />
                <br />
                <span role="timer" class={left > 0 ? 'quiet' : 'bad'}>
                  {left > 0 ? texts.left(hoursMinutesSeconds(left)) : texts.over}
                </span>
              </>,
            ],
          ]}
        />
        <code class="secret">{address}</code>
        <div class="row">
          <Copy text={address} label={texts.copyAddress} />
          <Copy text={amount} label={texts.copyAmount} />
          <a class="button" href={uri}>
            {texts.openWallet}
          </a>
        </div>
        <p class="notice warn">{texts.warning}</p>
      </div>
    </Dialog>
  );
}

/**
 * Width of the white margin around the code in modules, as required by the standard. It keeps the code readable on a
 * dark page.
 */
const QUIET_ZONE = 4;

/** Shows a QR code for wallets. The library that draws it is loaded only when needed. */
function Qr({ text }: { text: string }) {
  const path = useSignal<{ size: number; d: string } | null>(null);
  useEffect(() => {
    void import('uqr').then(({ encode }) => {
      const { size, data } = encode(text, { border: QUIET_ZONE });
      const dark = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
      path.value = { size, d: dark.join('') };
    });
  }, [text]);
  return path.value === null ? null : (
    <svg
      class="qr"
      viewBox={`0 0 ${path.value.size} ${path.value.size}`}
      role="img"
      aria-label={texts.qr}
      shape-rendering="crispEdges"
    >
      <path d={path.value.d} fill="#000" />
    </svg>
  );
}
