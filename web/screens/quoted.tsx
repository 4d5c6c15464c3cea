import { useSignal } from '@preact/signals';
import type { ResultOf, VariablesOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { accrued, micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { OfferOf, OfferSearch, Quote } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { Time } from '../parts/time.js';
import { query, setQuery } from '../state/location.js';
import { marketChanges, modelName, regionName } from '../state/market.js';
import { modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { session } from '../state/session.js';

export type Quoted = NonNullable<ResultOf<typeof Quote>['quote']>;
export type QuoteInput = VariablesOf<typeof Quote>['input'];

/** Pause after typing before the service is asked. */
const PAUSE_MS = 200;
const SECONDS_PER_HOUR = 3_600;

/** The price of what is asked for, again after each change of it, and when its machine is taken or freed. */
export function useQuote(input: QuoteInput | null) {
  const quoted = useSignal<Quoted | null>(null);
  const error = useSignal<unknown>(null);
  const question = useSignal(0);
  const retry = useMemo(() => new Retry(), []);
  const asked = JSON.stringify(input);
  const isSignedIn = session.value === 'in';
  const read = async () => {
    if (input === null) return;
    question.value += 1;
    const mine = question.peek();
    try {
      const { quote } = await send(Quote, { input });
      if (mine !== question.peek()) return;
      retry.end();
      quoted.value = quote;
      error.value = null;
    } catch (fault) {
      if (mine !== question.peek()) return;
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
  }, [asked, isSignedIn]);
  // Looking for the machine among the offers costs nothing of the account's requests; a quote does.
  const machineId = quoted.value?.machineId ?? input?.machineId ?? null;
  const offered = useRead(OfferOf, machineId === null ? null : { machineId }, marketChanges);
  const isOffered = offered.data.value === null ? null : offered.data.value.offer !== null;
  const wasOffered = useSignal<boolean | null>(null);
  useEffect(() => {
    if (isOffered !== null && wasOffered.peek() !== null && wasOffered.peek() !== isOffered) void read();
    wasOffered.value = isOffered;
  }, [isOffered]);
  return { quoted, error, prices: offered.data.value?.offer?.pricePerHour ?? null, again: () => void read() };
}

export function QuotedMachine({ quoted }: { quoted: Quoted }) {
  const { machineId, machine } = quoted;
  return (
    <>
      <span class="mono">{machineId}</span> in {regionName(machine.region)}
      {machine.demo && ' · a generated machine of the demonstration: its instances are records, nothing runs'}
    </>
  );
}

export function Price({ quoted }: { quoted: Quoted }) {
  const {
    priceHr,
    diskPriceHr,
    totalPriceHr,
    account,
    reserved,
    preempts,
    preemptedInstances,
    minimumGpuSeconds,
    minimumCost,
    coverNeeded,
  } = quoted;
  const total = micro(totalPriceHr);
  return (
    <div class="quote stack-tight" aria-live="polite">
      <p class="total">{rate(total)} USD per hour</p>
      <p class="small quiet figure">
        {rate(micro(priceHr))} for the GPUs + {rate(micro(diskPriceHr))} for the disk ·{' '}
        {usd(accrued(total, SECONDS_PER_HOUR * 24))} a day · billed per second
      </p>
      {account !== null && account.exhaustsAt !== null && account.hoursLeft !== null && (
        <p>
          Your balance of {usd(micro(account.balance))} USD lasts{' '}
          {duration(Math.floor(account.hoursLeft * SECONDS_PER_HOUR))} with it
          {micro(account.burnPerHour) > total && ' and all else that you rent'}, until{' '}
          <Time at={secondsOf(account.exhaustsAt)} />.
        </p>
      )}
      {account === null && <p>It needs a balance of {usd(micro(coverNeeded), 4)} USD at least.</p>}
      {reserved !== null && (
        <p>
          The term ends <Time at={secondsOf(reserved.until)} /> if it never stops. Destroying it sooner costs the
          discount of {rate(micro(reserved.discountHr))} USD for each hour that it ran.
        </p>
      )}
      {preempts && (
        <p class="warn">
          {preemptedInstances === 1
            ? 'An interruptible instance is stopped for it'
            : `${preemptedInstances} interruptible instances are stopped for it`}
          : {minimumGpuSeconds} seconds of GPU are billed at least ({usd(micro(minimumCost), 4)} USD).
        </p>
      )}
    </div>
  );
}

/** When the machine is gone: the cheapest of its like, with all that was typed kept. */
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
  if (next === undefined) return <p>No machine like it is free now. Close this, and ask for something else.</p>;
  const price = next.pricePerHour[modeOf(query.value.get('mode') ?? '').price];
  return (
    <div class="notice row between">
      <span>
        Next best: {next.numGpus} × {modelName(next.gpu)} in {regionName(next.region)} for {rate(micro(price))} USD/h
      </span>
      <button type="button" onClick={() => setQuery({ deploy: next.machineId }, { replace: true })}>
        Take this one
      </button>
    </div>
  );
}
