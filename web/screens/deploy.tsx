import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { Deploy, DeployBest } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { Refusal, send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { Failure, NotArrived } from '../parts/notice.js';
import { type Instance, takeInstance } from '../state/account.js';
import { BEST, FORM, useDeployForm } from '../state/deploy-form.js';
import { filter } from '../state/filters.js';
import { draft, forgetDraft, link } from '../state/launch-draft.js';
import { formOf } from '../state/launch-form.js';
import { go, path, setQuery, wasLoadedWith, withQuery } from '../state/location.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { modelName } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { session } from '../state/session.js';
import { wordsFor } from '../state/words.js';
import { DeadlineFields, IdleField } from './deadlines.js';
import { Gallery } from './gallery.js';
import { LaunchFields, LinkNotice } from './launch-fields.js';
import { NextBest, Price, type Quoted, QuotedMachine, useQuote } from './quoted.js';
import { SaveAs } from './save-as.js';
import { NewSecret } from './secrets.js';
import { TemplateVariables } from './template-variables.js';
import { VolumeFields } from './volume-fields.js';

type DeployForm = ReturnType<typeof useDeployForm>;
type QuoteOf = ReturnType<typeof useQuote>;

/** Rents a machine, or the best that fits the requirements. The price is the service's own answer for exactly this. */
export function DeployDialog() {
  const form = useDeployForm();
  const quote = useQuote(form.input);
  const rental = useRental(form, quote);
  const isMakingSecret = useSignal(false);
  const makeSecret = () => {
    isMakingSecret.value = true;
  };
  const isByLink = useMemo(() => link.value !== null || (wasLoadedWith('deploy') && wasLoadedWith('template')), []);
  const quoted = quote.quoted.value;
  return (
    <Dialog title={titleOf(form.machineId === null, quoted)} onClose={close}>
      <form onSubmit={rental.deploy}>
        <div class="dialog-body stack">
          {isByLink && <LinkNotice />}
          <p class="small quiet">{quoted !== null && <QuotedMachine quoted={quoted} />}</p>
          {form.machineId !== null && (
            <button
              type="button"
              class="plain justify-start"
              onClick={() => setQuery({ deploy: BEST }, { replace: true })}
            >
              Take the best machine that fits my requirements instead
            </button>
          )}
          <Terms form={form} quoted={quoted} onNewSecret={makeSecret} />
          <Modes form={form} quote={quote} />
          <Outcome form={form} quoted={quoted} rental={rental} fault={quote.error.value} />
        </div>
        <div class="dialog-end">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <RentIt isBusy={rental.isBusy} quoted={quoted} />
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

function close(): void {
  forgetDraft();
  if (path.value !== '/launch') setQuery(Object.fromEntries(FORM.map((name) => [name, null])));
  else go('/machines');
}

/** Rents what the form asks for at the price that was quoted, once. */
function useRental({ machineId, terms }: DeployForm, quote: QuoteOf) {
  // One for the dialog: however often its button is pressed, and whatever gets lost on the way, it rents once.
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const show = ({ id }: Instance) => {
    forgetDraft();
    go(`/instances/${id}`);
  };
  const isNotRented = useLostAnswer(idempotencyKey, error.value, show);
  const rent = async ({ priceHr }: Quoted) => {
    // Never dearer than what stands on the button.
    const common = { ...terms, maxPricePerHour: priceHr, idempotencyKey };
    if (machineId !== null) return (await send(Deploy, { input: { ...common, machineId } })).deploy;
    return (await send(DeployBest, { input: { ...common, filter: filter.value } })).deployBest;
  };
  const deploy = async (event: Event) => {
    event.preventDefault();
    const quoted = quote.quoted.value;
    if (isBusy.value || quoted === null) return;
    isBusy.value = true;
    error.value = null;
    try {
      const instance = await rent(quoted);
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
  return { deploy, isBusy: isBusy.value, error: error.value, isNotRented };
}

interface TermsProps {
  form: DeployForm;
  quoted: Quoted | null;
  onNewSecret(): void;
}

function Terms({ form, quoted, onNewSecret }: TermsProps) {
  const { template, disk, diskGb, launch, fault, type, ends, idle } = form;
  return (
    <>
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
      {session.value === 'in' && <VolumeFields />}
      <LaunchFields onNewSecret={onNewSecret} />
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
    </>
  );
}

function Modes({ form: { mode }, quote: { prices } }: { form: DeployForm; quote: QuoteOf }) {
  return (
    <>
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
              {prices !== null && <span class="small quiet">{rate(micro(prices[price]), decimals)} USD/h</span>}
            </label>
          ))}
        </div>
      </fieldset>
      <p class="small">{mode.meaning}</p>
    </>
  );
}

interface OutcomeProps {
  form: DeployForm;
  quoted: Quoted | null;
  rental: Pick<ReturnType<typeof useRental>, 'error' | 'isNotRented'>;
  /** Of the quote. */
  fault: unknown;
}

/** What it costs, or why it can't be rented, and what can be done about that. */
function Outcome({ form: { machineId, diskGb }, quoted, rental: { error, isNotRented }, fault }: OutcomeProps) {
  const isShort = isTooLittle(quoted);
  const isGone = !isShort && (quoted?.refusal?.code === 'deploy_failed' || isRefused(error));
  return (
    <>
      {quoted !== null && <Price quoted={quoted} />}
      {quoted === null && diskGb === 0 && <p class="notice warn">The disk is a whole number of GB, from 1.</p>}
      <div role="alert">
        {quoted?.refusal != null && error === null && (
          <p class="notice warn">{wordsFor(new Refusal(quoted.refusal.code, quoted.refusal.message))}</p>
        )}
      </div>
      {isNotRented ? <NotArrived>nothing was rented</NotArrived> : <Failure error={error ?? fault} />}
      {isShort && (
        <p>
          <a href="/money">Add credit</a>
        </p>
      )}
      {isGone && machineId !== null && quoted !== null && (
        <NextBest without={machineId} quoted={quoted} diskGb={diskGb} />
      )}
    </>
  );
}

function RentIt({ isBusy, quoted }: { isBusy: boolean; quoted: Quoted | null }) {
  if (session.value === 'out')
    return (
      <a class="button primary" href={`/sign-in?then=${encodeURIComponent(withQuery({}))}`}>
        Sign in to rent it
      </a>
    );
  const words = quoted === null ? 'Deploy' : `Deploy for ${rate(micro(quoted.totalPriceHr))} USD/h`;
  return (
    <button type="submit" class="primary" aria-disabled={isBusy || quoted === null || quoted.refusal !== null}>
      {isBusy ? 'Renting …' : words}
    </button>
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
