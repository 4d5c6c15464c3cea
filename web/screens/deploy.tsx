import { useSignal } from '@preact/signals';
import type { ResultOf, VariablesOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { accrued, micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { Deploy, DeployBest, OfferOf, OfferSearch, Quote } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { Retry } from '../graph/retry.js';
import { Refusal, send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { Failure, NotArrived } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { type Instance, takeInstance } from '../state/account.js';
import { filter, isFilterKnown } from '../state/filters.js';
import { draft, forgetDraft, link } from '../state/launch-draft.js';
import { formOf, imageOfLink, launchOf } from '../state/launch-form.js';
import { go, path, query, setQuery, wasLoadedWith, withQuery } from '../state/location.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { marketChanges, modelName, regionName } from '../state/market.js';
import { MODES, modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { session } from '../state/session.js';
import { wordsFor } from '../state/words.js';
import { DeadlineFields, IdleField, idleMinutes } from './deadlines.js';
import { Gallery } from './gallery.js';
import { LaunchFields, LinkNotice } from './launch-fields.js';
import { SaveAs } from './save-as.js';
import { NewSecret } from './secrets.js';
import { TemplateVariables } from './template-variables.js';

type Quoted = NonNullable<ResultOf<typeof Quote>['quote']>;
type Input = VariablesOf<typeof Quote>['input'];

const DEFAULT_TEMPLATE = 'pytorch';
const DEFAULT_DISK_GB = 50;
/** Pause after typing before the service is asked. */
const PAUSE_MS = 200;
const SECONDS_PER_HOUR = 3_600;

/** Of the address: it can be shared, and is still there after signing in. */
const FORM = ['deploy', 'mode', 'template', 'deploy-disk'] as const;
const BEST = 'best';

/** Rents a machine, or the best that fits the requirements. The price is the service's own answer for exactly this. */
export function DeployDialog() {
  // One for the dialog: however often its button is pressed, and whatever gets lost on the way, it rents once.
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const asked = query.value.get('deploy') ?? BEST;
  const isBest = asked === BEST;
  const mode = modeOf(query.value.get('mode') ?? '');
  const typed = useSignal({
    template: (link.value === null ? query.value.get('template') : imageOfLink(query.value)) ?? DEFAULT_TEMPLATE,
    // Not `disk`: that is what a machine is asked to have, which nobody pays for.
    disk: query.value.get('deploy-disk') ?? String(DEFAULT_DISK_GB),
  });
  const type = (name: 'template' | 'disk', text: string) => {
    typed.value = { ...typed.value, [name]: text };
    setQuery({ [name === 'disk' ? 'deploy-disk' : name]: text }, { replace: true });
  };
  const { template, disk } = typed.value;
  const diskGb = /^\d{1,7}$/.test(disk) ? Number(disk) : 0;
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);

  const { launch, fault } = launchOf(draft.value);
  const ends = useSignal({ stopAt: '', destroyAt: '' });
  const idle = useSignal('');
  const stopWhenIdle = idleMinutes(idle.value);
  const deadlines = Object.fromEntries(Object.entries(ends.value).filter(([, text]) => text !== ''));
  const terms = {
    template,
    diskGb,
    mode: mode.value,
    ...(launch !== null && { launch }),
    ...deadlines,
    ...(stopWhenIdle !== null && { stopWhenIdle }),
  };
  const input: Input = isBest ? { ...terms, filter: filter.value } : { ...terms, machineId: asked };
  const isAsked = fault === null && diskGb > 0 && template !== '' && (!isBest || isFilterKnown.value);
  const quote = useQuote(isAsked ? input : null);
  const isMakingSecret = useSignal(false);
  const isByLink = useMemo(() => link.value !== null || (wasLoadedWith('deploy') && wasLoadedWith('template')), []);
  const close = () => {
    forgetDraft();
    if (path.value === '/') setQuery(Object.fromEntries(FORM.map((name) => [name, null])));
    else go('/');
  };

  const show = ({ id }: Instance) => {
    forgetDraft();
    go(`/instances/${id}`);
  };
  const isNotRented = useLostAnswer(idempotencyKey, error.value, show);

  const deploy = async (event: Event) => {
    event.preventDefault();
    const quoted = quote.quoted.value;
    if (isBusy.value || quoted === null) return;
    isBusy.value = true;
    error.value = null;
    try {
      const instance = await rent(isBest ? null : asked, quoted);
      if (instance === null) return;
      takeInstance(instance);
      show(instance);
    } catch (fault) {
      error.value = fault;
      quote.again();
    } finally {
      isBusy.value = false;
    }
  };
  const rent = async (machineId: string | null, { priceHr }: Quoted) => {
    // Never dearer than what stands on the button.
    const common = { ...terms, maxPricePerHour: priceHr, idempotencyKey };
    if (machineId !== null) return (await send(Deploy, { input: { ...common, machineId } })).deploy;
    return (await send(DeployBest, { input: { ...common, filter: filter.value } })).deployBest;
  };

  const quoted = quote.quoted.value;
  const isShort = isTooLittle(quoted);
  const isGone = !isShort && (quoted?.refusal?.code === 'deploy_failed' || isRefused(error.value));
  return (
    <Dialog title={titleOf(isBest, quoted)} onClose={close}>
      <form onSubmit={deploy}>
        <div class="dialog-body stack">
          {isByLink && <LinkNotice />}
          <p class="small quiet">{quoted !== null && <Machine quoted={quoted} />}</p>
          {!isBest && (
            <button
              type="button"
              class="plain justify-start"
              onClick={() => setQuery({ deploy: BEST }, { replace: true })}
            >
              Take the best machine that fits my requirements instead
            </button>
          )}
          <Gallery
            value={template}
            onType={(text) => type('template', text)}
            onSaved={(saved) => {
              draft.value = formOf(saved.launch);
              type('template', saved.template);
              type('disk', String(saved.diskGb));
            }}
          />
          <TemplateVariables
            template={template}
            onNewSecret={() => {
              isMakingSecret.value = true;
            }}
          />
          <div class="two">
            <label class="field">
              <span>Disk, GB{quoted !== null && ` (the machine has ${quoted.freeDiskGb} left)`}</span>
              <input
                type="number"
                name="disk"
                min="1"
                required
                value={disk}
                onInput={({ currentTarget }) => type('disk', currentTarget.value)}
              />
            </label>
          </div>
          <LaunchFields
            onNewSecret={() => {
              isMakingSecret.value = true;
            }}
          />
          {session.value === 'in' && <SaveAs template={template} diskGb={diskGb} launch={launch} />}
          <DeadlineFields
            value={ends.value}
            onType={(value) => {
              ends.value = value;
            }}
          />
          <IdleField
            value={idle.value}
            onType={(text) => {
              idle.value = text;
            }}
          />
          {fault !== null && <p class="notice warn">{fault}</p>}
          <fieldset>
            <legend>How it is priced</legend>
            <div class="choices">
              {MODES.map(({ value, name, price, decimals }) => (
                <label class="choice" key={value}>
                  <input
                    type="radio"
                    name="mode"
                    value={value}
                    checked={mode.value === value}
                    onChange={() => setQuery({ mode: value }, { replace: true })}
                  />
                  {name}
                  {quote.prices !== null && (
                    <span class="small quiet">{rate(micro(quote.prices[price]), decimals)} USD/h</span>
                  )}
                </label>
              ))}
            </div>
          </fieldset>
          <p class="small">{mode.meaning}</p>
          {quoted !== null && <Price quoted={quoted} />}
          {quoted === null && diskGb === 0 && <p class="notice warn">The disk is a whole number of GB, from 1.</p>}
          <div role="alert">
            {quoted?.refusal != null && error.value === null && (
              <p class="notice warn">{wordsFor(new Refusal(quoted.refusal.code, quoted.refusal.message))}</p>
            )}
          </div>
          {isNotRented ? (
            <NotArrived>nothing was rented</NotArrived>
          ) : (
            <Failure error={error.value ?? quote.error.value} />
          )}
          {isShort && (
            <p>
              <a href="/money">Add credit</a>
            </p>
          )}
          {isGone && !isBest && quoted !== null && <NextBest without={asked} quoted={quoted} diskGb={diskGb} />}
        </div>
        <div class="dialog-end">
          <button type="button" onClick={close}>
            Cancel
          </button>
          {session.value === 'out' ? (
            <a class="button primary" href={`/sign-in?then=${encodeURIComponent(withQuery({}))}`}>
              Sign in to rent it
            </a>
          ) : (
            <button
              type="submit"
              class="primary"
              aria-disabled={isBusy.value || quoted === null || quoted.refusal !== null}
            >
              {isBusy.value
                ? 'Renting …'
                : quoted === null
                  ? 'Deploy'
                  : `Deploy for ${rate(micro(quoted.totalPriceHr))} USD/h`}
            </button>
          )}
        </div>
      </form>
      {isMakingSecret.value && (
        <NewSecret
          onClose={(made) => {
            isMakingSecret.value = false;
            if (made !== null) takeSecret(made);
          }}
        />
      )}
    </Dialog>
  );
}

/** A secret that was just made goes where one is still to be chosen. */
function takeSecret(name: string): void {
  const { secrets } = draft.value;
  const at = secrets.findIndex(({ secret }) => secret === '');
  if (at < 0) return;
  draft.value = {
    ...draft.value,
    secrets: secrets.map((row, place) => (place === at ? { ...row, secret: name } : row)),
  };
}

/** Whether the balance is below what the rental needs. */
const isTooLittle = (quoted: Quoted | null): boolean =>
  quoted?.account != null && micro(quoted.account.balance) < micro(quoted.account.coverNeeded);

const isRefused = (error: unknown): boolean => error instanceof Refusal && error.code === 'deploy_failed';

function titleOf(isBest: boolean, quoted: Quoted | null): string {
  const what = quoted === null ? 'a machine' : `${quoted.machine.numGpus} × ${modelName(quoted.machine.gpu)}`;
  return isBest ? `Rent the best that fits: ${what}` : `Rent ${what}`;
}

/** The price of what is asked for, again after each change of it, and when its machine is taken or freed. */
function useQuote(input: Input | null) {
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

function Machine({ quoted }: { quoted: Quoted }) {
  const { machineId, machine } = quoted;
  return (
    <>
      <span class="mono">{machineId}</span> in {regionName(machine.region)}
      {machine.demo && ' · a generated machine of the demonstration: its instances are records, nothing runs'}
    </>
  );
}

function Price({ quoted }: { quoted: Quoted }) {
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
function NextBest({ without, quoted, diskGb }: { without: string; quoted: Quoted; diskGb: number }) {
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
