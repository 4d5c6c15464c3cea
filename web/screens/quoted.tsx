import { useSignal } from '@preact/signals';
import type { ResultOf, VariablesOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { accrued, loneRate, type Micro, micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { OfferSearch, OneOffer, Quote } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { shortName } from '../parts/model-name.js';
import { Time } from '../parts/time.js';
import { balanceNow, figures } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { MACHINE } from '../state/deploy-link.js';
import { query, setQuery } from '../state/location.js';
import { marketChanges, modelName, regionName } from '../state/market.js';
import { modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { session } from '../state/session.js';
import { texts } from '../texts/en/deploy.js';

export type Quoted = NonNullable<ResultOf<typeof Quote>['quote']>;
export type QuoteInput = VariablesOf<typeof Quote>['input'];

/** Pause in typing after which the service is queried. */
const PAUSE_MS = 200;
const SECONDS_PER_HOUR = 3_600;

/**
 * Quotes the selection. Repeats the quote after each change to the selection, and when its machine is taken or becomes
 * free.
 */
export function useQuote(input: QuoteInput | null) {
  const quoted = useSignal<Quoted | null>(null);
  const error = useSignal<unknown>(null);
  const latest = useSignal(0);
  const retry = useMemo(() => new Retry(), []);
  const inputText = JSON.stringify(input);
  const isSignedIn = session.value === 'in';
  const read = async () => {
    if (input === null) return;
    latest.value += 1;
    const own = latest.peek();
    try {
      const { quote } = await send(Quote, { input });
      if (own !== latest.peek()) return;
      retry.end();
      quoted.value = quote;
      error.value = null;
    } catch (fault) {
      if (own !== latest.peek()) return;
      error.value = fault;
      quoted.value = null;
      retry.after(fault, () => void read());
    }
  };
  useEffect(() => () => retry.end(), []);
  useEffect(() => {
    if (input === null) {
      quoted.value = null;
      return;
    }
    const timer = setTimeout(read, quoted.peek() === null ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [inputText, isSignedIn]);
  // Looking up the machine's offer doesn't count against the account's rate limit, but a quote does.
  const machineId = quoted.value?.machineId ?? input?.machineId ?? null;
  const offered = useRead(OneOffer, machineId === null ? null : { machineId }, marketChanges);
  const offer = offered.data.value?.offer ?? null;
  const isOffered = offered.data.value === null ? null : offer !== null;
  const wasOffered = useSignal<boolean | null>(null);
  useEffect(() => {
    if (isOffered !== null && wasOffered.peek() !== null && wasOffered.peek() !== isOffered) void read();
    wasOffered.value = isOffered;
  }, [isOffered]);
  return { quoted, error, offer, again: () => void read() };
}

/** Shows the cost line by line, and what the user should know in advance. */
export function Price({ quoted }: { quoted: Quoted }) {
  const { priceHr, diskPriceHr, diskGb, totalPriceHr, account, reserved, preempts, coverNeeded } = quoted;
  const total = micro(totalPriceHr);
  const left = account === null ? 0 : secondsLeft(account);
  return (
    <div class="stack-tight" aria-live="polite">
      <dl class="lines figure">
        <dt>{texts.forGpus}</dt>
        <dd>{texts.perHour(rate(micro(priceHr)))}</dd>
        <dt>{texts.forDisk(diskGb)}</dt>
        <dd>{texts.perHour(rate(micro(diskPriceHr)))}</dd>
      </dl>
      {account !== null && account.exhaustsAt !== null && account.hoursLeft !== null && (
        <p class="small">
          {texts.lasts(
            usd(balanceOf(account)),
            duration(left),
            micro(account.burnPerHour) > total,
            <Time at={serverNow.value + left} />,
          )}
        </p>
      )}
      {account === null && <p class="small">{texts.needs(usd(micro(coverNeeded), 4))}</p>}
      {reserved !== null && (
        <p class="small">{texts.term(<Time at={secondsOf(reserved.until)} />, loneRate(micro(reserved.discountHr)))}</p>
      )}
      {preempts && (
        <p class="small warn">
          {texts.preempts(quoted.preemptedInstances, quoted.minimumGpuSeconds, usd(micro(quoted.minimumCost), 4))}
        </p>
      )}
    </div>
  );
}

/** Returns for how many seconds the displayed balance covers this rental and all others. */
function secondsLeft(account: NonNullable<Quoted['account']>): number {
  const left = (balanceOf(account) * BigInt(SECONDS_PER_HOUR)) / micro(account.burnPerHour);
  return Math.max(0, Number(left));
}

/** Returns the balance shown on the whole page, once it is known. */
const balanceOf = ({ balance }: NonNullable<Quoted['account']>): Micro =>
  figures.value === null ? micro(balance) : balanceNow.value;

/** Shows the cost of a day, the mode, and how long the credit lasts, in short form next to the button. */
export function TotalPrice({ quoted: { totalPriceHr, account }, mode }: { quoted: Quoted; mode: string }) {
  return (
    <div>
      <p class="total">
        <Amount of={accrued(micro(totalPriceHr), SECONDS_PER_HOUR * 24)} /> <span class="unit">{texts.perDay}</span>
      </p>
      <p class="small total-detail">
        <strong>{mode}</strong>
        <span class="quiet">
          {account !== null && account.hoursLeft !== null
            ? texts.lastsShort(duration(secondsLeft(account)))
            : texts.perSecond}
        </span>
      </p>
    </div>
  );
}

/** Shown if the machine is gone. Offers the cheapest similar one and keeps all input. */
export function NextBest({ without, quoted, diskGb }: { without: string; quoted: Quoted; diskGb: number }) {
  const like = quoted.machine;
  const { data } = useRead(
    OfferSearch,
    {
      filter: { gpus: [like.gpu], numMin: like.numGpus, numMax: like.numGpus, diskGbMin: diskGb || null },
      sort: 'PRICE',
      first: 2,
    },
    marketChanges,
  );
  const next = data.value?.offerSearch.edges.map(({ node }) => node).find(({ machineId }) => machineId !== without);
  if (data.value === null) return null;
  if (next === undefined) return <p>{texts.noNext}</p>;
  const price = next.pricePerHour[modeOf(query.value.get('mode') ?? '').price];
  return (
    <div class="notice row between">
      <span>
        {texts.nextBest(next.numGpus, shortName(modelName(next.gpu)), regionName(next.region), loneRate(micro(price)))}
      </span>
      <button type="button" onClick={() => setQuery({ [MACHINE]: next.machineId }, { replace: true })}>
        {texts.takeThis}
      </button>
    </div>
  );
}
