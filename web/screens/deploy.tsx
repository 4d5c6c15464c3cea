import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { loneRate, micro, rate } from '../figures/money.js';
import { Deploy, DeployBest } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { Refusal, send } from '../graph/send.js';
import { Icon } from '../parts/icon.js';
import { Failure, NotArrived } from '../parts/notice.js';
import { type Instance, takeInstance } from '../state/account.js';
import { useDeployForm } from '../state/deploy-form.js';
import { isRenting, LAUNCH, machinesPath } from '../state/deploy-link.js';
import { draft, forgetDraft, link, readAddress, readLink, writeAddress } from '../state/launch-draft.js';
import { formOf } from '../state/launch-form.js';
import { go, path, query, setQuery, wasLoadedWith, withQuery } from '../state/location.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { useMarket } from '../state/market.js';
import { messageOf } from '../state/messages.js';
import { MODES } from '../state/modes.js';
import { useScope } from '../state/offers.js';
import { session } from '../state/session.js';
import { useTitle } from '../state/title.js';
import '../style/deploy.css';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/deploy.js';
import { screens } from '../texts/en/screens.js';
import { Advanced } from './advanced.js';
import { Gallery } from './gallery.js';
import { LinkNotice } from './launch-fields.js';
import { NextBest, Price, type Quoted, TotalPrice, useQuote } from './quoted.js';
import { NewSecret } from './secrets.js';
import { TemplateVariables } from './template-variables.js';
import { WhichMachine } from './which-machine.js';

type DeployForm = ReturnType<typeof useDeployForm>;
type QuoteOf = ReturnType<typeof useQuote>;

/** Parameters that run something, end the instance or describe it. They may have been set by the author of a link. */
const FOREIGN_PARAMETERS = ['template', 'stop-at', 'destroy-at', 'idle', 'limit', 'labels', ...LAUNCH] as const;

/**
 * The deploy page, for either a given machine or the best match for the requirements. The price is the service's own
 * quote for exactly this rental.
 */
export function DeployPage({ isLink = false }: { isLink?: boolean }) {
  useTitle(screens['/deploy']);
  // This runs before the fields are drawn, because they start with its values.
  useMemo(() => (isLink ? readLink() : readAddress()), []);
  useMarket();
  useEffect(
    () => () => {
      // The next screen is only known once this one is gone.
      setTimeout(() => isRenting() || forgetDraft());
    },
    [],
  );
  return <Page />;
}

function Page() {
  useScope();
  const form = useDeployForm();
  const quote = useQuote(form.input);
  const rental = useRental(form, quote);
  const isCreatingSecret = useSignal(false);
  const createSecret = () => {
    isCreatingSecret.value = true;
  };
  const isByLink = useMemo(
    () => link.value !== null || FOREIGN_PARAMETERS.some((name) => query.peek().has(name) && wasLoadedWith(name)),
    [],
  );
  useAddressOfLaunch();
  const quoted = quote.quoted.value;
  return (
    <div class="stack">
      <div class="stack-tight">
        <a class="small quiet back" href={machinesPath()}>
          <Icon name="chevron-left" />
          {screens['/machines']}
        </a>
        <h1 tabIndex={-1}>{screens['/deploy']}</h1>
      </div>
      {isByLink && <LinkNotice />}
      <div class="deploy">
        <form id="deploy" class="stack" onSubmit={rental.deploy}>
          <WhichMachine
            machineId={form.machineId}
            quoted={quoted}
            offer={quote.offer}
            isNone={quote.error.value !== null}
          />
          <Template form={form} onNewSecret={createSecret} />
        </form>
        <aside class="deploy-cost" aria-label={texts.summary}>
          <div class="panel padded stack-tight deploy-lines">
            <Modes form={form} quote={quote} />
            {quoted !== null && <Price quoted={quoted} />}
          </div>
          <div class="deploy-bar action-bar">
            <Outcome form={form} quoted={quoted} rental={rental} fault={quote.error.value} />
            {quoted !== null && <TotalPrice quoted={quoted} mode={form.mode.name} />}
            <DeployButton isBusy={rental.isBusy} quoted={quoted} />
          </div>
        </aside>
        <Advanced
          form={form}
          quoted={quoted}
          error={rental.error ?? quote.error.value}
          isByLink={isByLink}
          onNewSecret={createSecret}
        />
      </div>
      {isCreatingSecret.value && (
        <NewSecret
          onClose={(created) => {
            isCreatingSecret.value = false;
            if (created !== null) takeSecret(created);
          }}
        />
      )}
    </div>
  );
}

/** Keeps the form's URL up to date with the parts of the launch that it may contain. A link's URL isn't changed. */
function useAddressOfLaunch(): void {
  const { name, ports } = draft.value;
  useEffect(() => {
    if (path.peek() === '/deploy') writeAddress(draft.peek());
  }, [name, ports]);
}

/** Rents the form's selection at the quoted price, and only once. */
function useRental({ machineId, filter, terms }: DeployForm, quote: QuoteOf) {
  // The page uses a single key, so it rents only once even if the button is pressed repeatedly or a response is lost.
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const { isBusy, error, run } = useWork();
  const show = ({ id, runtime }: Instance) => {
    forgetDraft();
    // The terminal shows how far the start has progressed. A machine without a host agent has none.
    go(`/instances/${id}${runtime === null ? '' : '?tab=terminal'}`);
  };
  const isNotRented = useLostAnswer(idempotencyKey, error.value, show);
  const rent = async ({ priceHr }: Quoted) => {
    // The cost never exceeds the price on the button.
    const common = { ...terms, maxPricePerHour: priceHr, idempotencyKey };
    if (machineId !== null) return (await send(Deploy, { input: { ...common, machineId } })).deploy;
    return (await send(DeployBest, { input: { ...common, filter } })).deployBest;
  };
  const deploy = async (event: Event) => {
    event.preventDefault();
    const quoted = quote.quoted.value;
    if (isBusy.value || quoted === null) return;
    const isDone = await run(async () => {
      const instance = await rent(quoted);
      if (instance === null) return;
      takeInstance(instance);
      show(instance);
    });
    if (!isDone) quote.again();
  };
  return { deploy, isBusy: isBusy.value, error: error.value, isNotRented };
}

/** Shows the gallery and the chosen template's form. */
function Template({ form: { template, type }, onNewSecret }: { form: DeployForm; onNewSecret(): void }) {
  return (
    <section class="panel padded deploy-step">
      <Gallery
        value={template}
        onType={(text) => type('template', text)}
        onSaved={(saved) => {
          draft.value = formOf(saved.launch);
          type('template', saved.template);
          type('disk', String(saved.diskGb));
        }}
      />
      <TemplateVariables template={template} onNewSecret={onNewSecret} />
    </section>
  );
}

function Modes({ form: { mode }, quote: { offer } }: { form: DeployForm; quote: QuoteOf }) {
  return (
    <>
      <fieldset>
        <legend class="as-heading">{texts.priceStep}</legend>
        <div class="modes">
          {MODES.map(({ value, name, brief, price }) => (
            <label class="choice" key={value}>
              <input
                type="radio"
                name="mode"
                value={value}
                checked={mode.value === value}
                onChange={() => setQuery({ mode: value }, { replace: true })}
              />
              {name}
              <span class="small quiet figure">
                {offer !== null && texts.perHour(rate(micro(offer.pricePerHour[price])))}
              </span>
              <span class="small quiet brief">{brief}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <p class="small quiet">{mode.meaning}</p>
    </>
  );
}

interface OutcomeProps {
  form: DeployForm;
  quoted: Quoted | null;
  rental: Pick<ReturnType<typeof useRental>, 'error' | 'isNotRented'>;
  /** The error from the quote. */
  fault: unknown;
}

/** Shows why the selection can't be rented, and how to solve that. */
function Outcome({ form: { machineId, diskGb }, quoted, rental: { error, isNotRented }, fault }: OutcomeProps) {
  const isShort = isTooLittle(quoted);
  const isGone = !isShort && (quoted?.refusal?.code === 'deploy_failed' || isRefused(error));
  return (
    <div class="deploy-outcome">
      <div role="alert">
        {quoted?.refusal != null && error === null && (
          <p class="notice warn">{messageOf(new Refusal(quoted.refusal.code, quoted.refusal.message))}</p>
        )}
      </div>
      {isNotRented ? <NotArrived>{texts.nothingRented}</NotArrived> : <Failure error={error ?? fault} />}
      {isShort && (
        <p>
          <a href="/billing">{texts.addCredit}</a>
        </p>
      )}
      {isGone && machineId !== null && quoted !== null && (
        <NextBest without={machineId} quoted={quoted} diskGb={diskGb} />
      )}
    </div>
  );
}

function DeployButton({ isBusy, quoted }: { isBusy: boolean; quoted: Quoted | null }) {
  if (session.value === 'out')
    return (
      <a class="button primary large" href={`/sign-in?then=${encodeURIComponent(withQuery({}))}`}>
        {texts.signIn}
      </a>
    );
  const label = quoted === null ? texts.deploy : texts.deployFor(loneRate(micro(quoted.totalPriceHr)));
  return (
    <button
      type="submit"
      form="deploy"
      class="primary large"
      aria-disabled={isBusy || quoted === null || quoted.refusal !== null}
    >
      {isBusy ? texts.deploying : label}
    </button>
  );
}

/** Selects a newly created secret in the field where one still has to be chosen. */
function takeSecret(name: string): void {
  const { secrets } = draft.value;
  const at = secrets.findIndex(({ secret }) => secret === '');
  if (at < 0) return;
  draft.value = {
    ...draft.value,
    secrets: secrets.map((row, place) => (place === at ? { ...row, secret: name } : row)),
  };
}

/** Returns whether the balance is too low for the rental. */
const isTooLittle = (quoted: Quoted | null): boolean =>
  quoted?.account != null && micro(quoted.account.balance) < micro(quoted.account.coverNeeded);

const isRefused = (error: unknown): boolean => error instanceof Refusal && error.code === 'deploy_failed';
