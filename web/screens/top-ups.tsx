import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { micro, usd } from '../figures/money.js';
import { hoursMinutesSeconds, secondsOf } from '../figures/time.js';
import { CreateTopUp, TopUps as TopUpsDocument } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/top-ups.js';

type Answer = ResultOf<typeof TopUpsDocument>;
type Asset = NonNullable<Answer['topUpAssets']>[number];
type TopUp = NonNullable<Answer['topUps']>[number];

export const useTopUps = () => useRead(TopUpsDocument, {}, accountChanges);

/** Lets the user pay for credit in cryptocurrency, if the operator accepts payments. */
export function TopUps({ read: { data, error, again } }: { read: ReturnType<typeof useTopUps> }) {
  const assets = data.value?.topUpAssets ?? [];
  const topUps = data.value?.topUps ?? [];
  const shown = topUps.find(({ id }) => id === query.value.get('top-up'));
  if (data.value === null) return <Failure error={error.value} />;
  if (assets.length === 0 && topUps.length === 0) return <p class="small quiet">{texts.noPayments}</p>;
  return (
    <section class="panel" aria-labelledby="top-ups">
      <div class="panel-head">
        <h2 id="top-ups">{texts.title}</h2>
      </div>
      {assets.length > 0 && <NewTopUp assets={assets} onCreated={(id) => setQuery({ 'top-up': id })} onTried={again} />}
      {topUps.length > 0 && (
        <Table
          isCards
          caption={texts.caption}
          columns={[[texts.requested], [texts.toPay], [texts.state], [texts.credited, 'number']]}
        >
          {topUps.map((topUp) => (
            <tr key={topUp.id}>
              <th scope="row" class="wide">
                {texts.of(usd(micro(topUp.usd)), <Time at={secondsOf(topUp.createdAt)} />)}
              </th>
              <td class="wide">
                <button type="button" class="plain" onClick={() => setQuery({ 'top-up': topUp.id })}>
                  {topUp.amount} {topUp.coin}
                </button>
              </td>
              <td class="wide">{texts.states[topUp.state]}</td>
              <td class="number" data-label={texts.credited}>
                {usd(micro(topUp.credited))}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {shown !== undefined && <Pay topUp={shown} />}
    </section>
  );
}

interface NewTopUpProps {
  assets: readonly Asset[];
  onCreated(id: string): void;
  /** Called after each attempt, because a top-up may exist even if there was no response. */
  onTried(): void;
}

function NewTopUp({ assets, onCreated, onTried }: NewTopUpProps) {
  const asset = useSignal(assets[0]!.code);
  const typedUsd = useSignal('20');
  const { isBusy, error, run } = useWork(onTried);
  // A different amount is a new request, but repeating one whose response was lost is not.
  const idempotencyKey = useRef('');
  useMemo(() => {
    idempotencyKey.current = newIdempotencyKey();
  }, [asset.value, typedUsd.value]);
  const create = async (event: Event) => {
    event.preventDefault();
    await run(async () => {
      const { createTopUp } = await send(CreateTopUp, {
        input: { asset: asset.value, usd: Number(typedUsd.value), idempotencyKey: idempotencyKey.current },
      });
      idempotencyKey.current = newIdempotencyKey();
      if (createTopUp !== null) onCreated(createTopUp.id);
    });
  };
  const chosen = assets.find(({ code }) => code === asset.value);
  return (
    <form class="padded row" onSubmit={create}>
      <label class="row">
        <span class="quiet small">{texts.usd}</span>
        <input
          type="number"
          name="usd"
          min={String(chosen?.minimum ?? 5)}
          step="0.01"
          required
          value={typedUsd}
          onInput={({ currentTarget }) => {
            typedUsd.value = currentTarget.value;
          }}
        />
      </label>
      <label class="row">
        <span class="quiet small">{texts.payIn}</span>
        <select
          value={asset.value}
          onChange={({ currentTarget }) => {
            asset.value = currentTarget.value;
          }}
        >
          {assets.map(({ code, coin, network }) => (
            <option value={code}>{texts.coinOn(coin, network)}</option>
          ))}
        </select>
      </label>
      <button type="submit" class="primary" aria-disabled={isBusy.value}>
        {isBusy.value ? texts.requesting : texts.request}
      </button>
      <Failure error={error.value} />
    </form>
  );
}

function Pay({ topUp }: { topUp: TopUp }) {
  const { amount, coin, network, address, uri, expiresAt, state, confirmations, confirmationsNeeded } = topUp;
  const left = secondsOf(expiresAt) - serverNow.value;
  return (
    <Dialog title={texts.pay(amount, coin)} isNarrow onClose={() => setQuery({ 'top-up': null })}>
      <div class="dialog-body stack">
        <p role="status">
          <span class="badge">{texts.states[state]}</span>
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
