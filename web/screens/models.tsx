import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { FIT_ORDERS, type FitOrder } from '../figures/fit-order.js';
import { micro, rate } from '../figures/money.js';
import { fixed, number } from '../figures/number.js';
import { fileSize } from '../figures/size.js';
import { STARTERS } from '../figures/starter-models.js';
import { visible } from '../figures/visible.js';
import { ModelHub, ModelMemory } from '../graph/documents.js';
import { Rate } from '../parts/amount.js';
import { FileChooser } from '../parts/file-chooser.js';
import { Fold } from '../parts/fold.js';
import { Icon } from '../parts/icon.js';
import { ModelName, shortName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { query, setQuery } from '../state/location.js';
import { modelName, regionName, useSheet } from '../state/market.js';
import { deployModel, type Fit, type Memory, orderedFits, useFits } from '../state/model-run.js';
import { bandwidthOf, vramOf } from '../state/offers.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import '../style/models.css';
import { texts } from '../texts/en/models.js';
import { screens } from '../texts/en/screens.js';

const GB = 1e9;
/** Maximum size of a config.json, as in the API. */
const MAX_CONFIG = 64_000;
const BITS = [16, 8, 4] as const;

/**
 * Computes the memory of a language model, and finds a machine for it. The URL contains all input except a config.json.
 */
export function Models() {
  useTitle(screens['/models']);
  const config = useSignal('');
  const hub = useRead(ModelHub, {}).data.value;
  const chosen = query.value.get('model') ?? '';
  useEffect(() => {
    // Without a hub, the page's own copy of a starter's figures is used, but only with its name.
    const isCopy = config.peek() === '' || STARTERS.some(({ model }) => configOf(model) === config.peek());
    if (hub?.modelHub === null && isCopy) config.value = configOf(chosen);
  }, [hub, chosen]);
  const variables = hub === null ? null : variablesOf(config.value, hub.modelHub !== null);
  const { data, error } = useRead(ModelMemory, variables);
  const memory = error.value === null ? (data.value?.modelMemory ?? null) : null;
  useSheet();
  return (
    <div class="stack">
      <div class="stack-tight">
        <a class="small quiet back" href="/machines">
          <Icon name="chevron-left" />
          {screens['/machines']}
        </a>
        <h1 tabIndex={-1}>{screens['/models']}</h1>
        <p class="quiet">{texts.about}</p>
      </div>
      <Inputs config={config} hub={hub === null ? undefined : hub.modelHub} isRead={memory !== null} />
      <Failure error={error.value} />
      {memory !== null && <Result memory={memory} />}
      {/* Until the hub is known, the form above may still grow. */}
      {memory === null && error.value === null && hub !== null && (
        <div class="panel">
          <Empty icon="memory-stick" title={texts.emptyTitle}>
            {texts.empty}
          </Empty>
        </div>
      )}
    </div>
  );
}

/** Returns a starter's config.json, or an empty text for other models. */
function configOf(name: string): string {
  const starter = STARTERS.find(({ model }) => model === name);
  return starter === undefined ? '' : JSON.stringify(starter.config, null, 2);
}

/** Returns the query's variables, or null while the model isn't known. */
function variablesOf(config: string, readsHub: boolean) {
  const text = (name: string) => query.value.get(name)?.trim() ?? '';
  const figure = (name: string) =>
    /^\d{1,9}([.,]\d{1,3})?$/.test(text(name)) ? Number(text(name).replace(',', '.')) : null;
  const model = text('model') || null;
  if (config.trim() === '' && (model === null || !readsHub)) return null;
  return {
    model,
    config: config.trim() === '' ? null : config,
    contextLength: figure('context'),
    concurrency: figure('requests') ?? undefined,
    parametersInBillions: figure('parameters'),
    weightBits: BITS.find((bits) => bits === figure('bits')) ?? null,
  };
}

interface InputsProps {
  config: Signal<string>;
  /** Host of the hub. Undefined until it is known, and null if the service reads no models. */
  hub: string | null | undefined;
  /** Whether the memory could be computed. */
  isRead: boolean;
}

function Inputs({ config, hub, isRead }: InputsProps) {
  const hasConfig = config.value !== '';
  const needsName = hasConfig && (query.value.get('model') ?? '') === '';
  // The text of a field until the user leaves it. Otherwise, rendering the form again would discard it.
  const drafts = useRef<Record<string, string>>({});
  const typed = (name: string) => drafts.current[name] ?? query.value.get(name) ?? '';
  const draft = (name: string) => (event: { currentTarget: { value: string } }) => {
    drafts.current[name] = event.currentTarget.value;
  };
  const change = (name: string) => (event: { currentTarget: { value: string } }) => {
    delete drafts.current[name];
    setQuery({ [name]: event.currentTarget.value.trim() }, { replace: true });
  };
  // A new config is folded once it can be read. One that is being edited isn't.
  const isFolded = useSignal(false);
  const isTuned = typed('parameters') !== '' || typed('bits') !== '';
  return (
    <form
      class="panel padded stack-tight model-form"
      aria-label={texts.input}
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="model-fields">
        <label class="field">
          <span>
            {texts.model}
            {needsName && (
              <span class="quiet small" aria-hidden="true">
                {' '}
                {texts.required}
              </span>
            )}
          </span>
          <input
            name="model"
            aria-required={needsName}
            maxLength={300}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            placeholder={texts.modelHint}
            value={typed('model')}
            onInput={draft('model')}
            onChange={change('model')}
          />
        </label>
        <label class="field">
          <span>{texts.context}</span>
          <input
            type="number"
            name="context"
            min="1"
            placeholder={texts.byDefault(number(8192))}
            value={typed('context')}
            onInput={draft('context')}
            onChange={change('context')}
          />
        </label>
        <label class="field">
          <span>{texts.concurrency}</span>
          <input
            type="number"
            name="requests"
            min="1"
            placeholder={texts.byDefault('4')}
            value={typed('requests')}
            onInput={draft('requests')}
            onChange={change('requests')}
          />
        </label>
        <button type="submit">{texts.calculate}</button>
      </div>
      {/* Reserves the line before the hub is known. */}
      {!hasConfig && (
        <p class="small quiet">
          {hub === undefined ? '\u00a0' : hub === null ? texts.readsNothing : texts.readsHub(hub)}
        </p>
      )}
      {hub !== undefined && !hasConfig && typed('model') === '' && (
        <Starters
          onChosen={({ model }) => {
            delete drafts.current.model;
            isFolded.value = true;
            setQuery({ model }, { replace: true });
          }}
        />
      )}
      <div class="model-sources">
        {isFolded.value && hasConfig && isRead && (
          <p class="row small">
            <Icon name="file-text" />
            <span>{texts.isInUse(texts.config)}</span>
            <button
              type="button"
              class="plain"
              onClick={() => {
                isFolded.value = false;
              }}
            >
              {texts.edit}
            </button>
          </p>
        )}
        {hub !== undefined && !(isFolded.value && hasConfig && isRead) && (
          <Fold
            title={texts.config}
            summary={hasConfig || hub === null ? undefined : texts.configSummary}
            isOpen={hub === null || hasConfig}
          >
            <Config
              config={config}
              onNew={() => {
                isFolded.value = true;
              }}
            />
          </Fold>
        )}
        {hub !== undefined && (
          <Fold title={texts.advanced} summary={isTuned ? undefined : texts.fromConfig} isOpen={isTuned}>
            <div class="two">
              <label class="field">
                <span>{texts.parameters}</span>
                <input
                  name="parameters"
                  inputMode="decimal"
                  maxLength={9}
                  autocomplete="off"
                  placeholder={texts.fromConfig}
                  value={typed('parameters')}
                  onInput={draft('parameters')}
                  onChange={change('parameters')}
                />
              </label>
              <label class="field">
                <span>{texts.bits}</span>
                <select name="bits" value={typed('bits')} onChange={change('bits')}>
                  <option value="">{texts.fromConfig}</option>
                  {BITS.map((bits) => (
                    <option key={bits} value={bits}>
                      {texts.bitsOf(bits)}
                    </option>
                  ))}
                </select>
              </label>
            </div>
          </Fold>
        )}
      </div>
    </form>
  );
}

/** Well-known models to begin with. */
function Starters({ onChosen }: { onChosen(starter: (typeof STARTERS)[number]): void }) {
  return (
    <div class="row small starters">
      <span class="quiet">{texts.starters}</span>
      {STARTERS.map((starter) => (
        <button key={starter.model} type="button" class="badge" title={starter.model} onClick={() => onChosen(starter)}>
          {starter.name}
        </button>
      ))}
    </div>
  );
}

/** A field for a config.json, which can be pasted, dropped or chosen. */
function Config({ config, onNew }: { config: Signal<string>; onNew(): void }) {
  const chooser = useRef<HTMLInputElement>(null);
  const take = async ([file]: readonly File[]) => {
    if (file === undefined) return;
    config.value = await file.slice(0, MAX_CONFIG + 1).text();
    onNew();
  };
  return (
    <div class="stack-tight">
      <label class="field">
        <span>{texts.configText}</span>
        <textarea
          name="config"
          class="mono"
          rows={6}
          spellcheck={false}
          value={config.value}
          onPaste={onNew}
          onInput={({ currentTarget }) => {
            if (config.value === '') onNew();
            config.value = currentTarget.value;
          }}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            const files = [...(event.dataTransfer?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            void take(files);
          }}
        />
      </label>
      <div class="row between">
        <p class="small quiet">{texts.configHint}</p>
        <div class="row">
          {config.value !== '' && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                config.value = '';
              }}
            >
              {texts.clear}
            </button>
          )}
          <button type="button" onClick={() => chooser.current?.click()}>
            {texts.chooseFile}
          </button>
        </div>
      </div>
      <FileChooser chooser={chooser} label={texts.chooseFile} onChosen={(files) => void take(files)} />
    </div>
  );
}

const ORDER_PARAMETER = 'order';
const chosenOrder = (): FitOrder =>
  FIT_ORDERS.find((order) => order.toLowerCase() === query.value.get(ORDER_PARAMETER)) ?? 'RECOMMENDED';

function Result({ memory }: { memory: Memory }) {
  const { fits: all, error } = useFits(memory);
  const chosenId = useSignal<string | null>(null);
  const fits = all === null ? null : orderedFits(all, chosenOrder());
  const recommended = all === null ? null : (orderedFits(all, 'RECOMMENDED')[0] ?? null);
  const chosen = fits?.find(({ offer }) => offer.machineId === chosenId.value) ?? fits?.[0] ?? null;
  return (
    <>
      <Summary memory={memory} fit={chosen} />
      <section class="panel fits" aria-label={texts.machines}>
        <div class="panel-head">
          <h2>{fits === null ? texts.searching : fits.length === 0 ? texts.machines : texts.fitting}</h2>
          {fits !== null && fits.length > 1 && (
            <OrderChoice
              onChange={() => {
                chosenId.value = null;
              }}
            />
          )}
        </div>
        {error !== null && (
          <div class="padded">
            <Failure error={error} />
          </div>
        )}
        {fits?.length === 0 && (
          <Empty icon="search" title={texts.none}>
            {texts.noneHint}
          </Empty>
        )}
        {fits !== null && fits.length > 0 && (
          <FitTable
            fits={fits}
            chosen={chosen}
            recommended={recommended}
            onChoose={(id) => {
              chosenId.value = id;
            }}
          />
        )}
      </section>
      {chosen !== null && <DeployBar memory={memory} chosen={chosen} isRecommended={chosen === recommended} />}
    </>
  );
}

/** A choice of the order, whose first machine is then chosen. */
function OrderChoice({ onChange }: { onChange(): void }) {
  return (
    <fieldset class="segments" aria-label={texts.order}>
      {FIT_ORDERS.map((order, place) => (
        <button
          key={order}
          type="button"
          title={texts.orders[order].title}
          aria-pressed={order === chosenOrder()}
          onClick={() => {
            onChange();
            setQuery({ [ORDER_PARAMETER]: place === 0 ? null : order.toLowerCase() }, { replace: true });
          }}
        >
          {texts.orders[order].name}
        </button>
      ))}
    </fieldset>
  );
}

interface BarOfProps {
  memory: Memory;
  chosen: Fit;
  isRecommended: boolean;
}

/** Deploys the chosen machine, once the model has a name. Says why the recommended one is recommended. */
function DeployBar({ memory, chosen, isRecommended }: BarOfProps) {
  const { offer } = chosen;
  const { model } = memory;
  return (
    <div class="panel action-bar model-bar">
      <div>
        <p>
          <strong>
            {offer.numGpus} × <ModelName name={modelName(offer.gpu)} />
          </strong>
          <span class="quiet figure">
            {' · '}
            {rate(micro(offer.pricePerHour.onDemand))} USD/h
          </span>
        </p>
        <p class="small quiet">{reasonFor(offer, isRecommended)}</p>
      </div>
      {model === null ? (
        <button
          type="button"
          class="large"
          onClick={() => document.querySelector<HTMLElement>('input[name="model"]')?.focus()}
        >
          {texts.enterName}
        </button>
      ) : (
        <button type="button" class="primary large" onClick={() => deployModel(model, memory, chosen)}>
          {texts.deploy}
        </button>
      )}
    </div>
  );
}

/** Describes a machine's speed and, if it is recommended, explains why. */
function reasonFor(offer: Fit['offer'], isRecommended: boolean): string {
  const speed = bandwidthOf(offer);
  if (speed === undefined) return regionName(offer.region);
  const stated = [number(speed), offer.numGpus] as const;
  return isRecommended ? texts.because(...stated) : `${texts.speedOn(...stated)} · ${regionName(offer.region)}`;
}

const PARTS = ['weights', 'kv', 'overhead'] as const;

/** Returns the memory on all GPUs of a split, by part. */
function partsOf({ gpus, weightBytesPerGpu, kvBytesPerGpu, overheadBytesPerGpu }: Memory['splits'][number]) {
  const [weights, kv, overhead] = [weightBytesPerGpu, kvBytesPerGpu, overheadBytesPerGpu].map((bytes) => bytes * gpus);
  return { weights: weights!, kv: kv!, overhead: overhead!, used: weights! + kv! + overhead! };
}

const totalOf = ({ offer }: Fit): number => (vramOf(offer) ?? 0) * GB;

function Summary({ memory, fit }: { memory: Memory; fit: Fit | null }) {
  const split = fit?.split ?? memory.splits[0];
  const billions = fixed(memory.parameters / GB, 1);
  if (split === undefined) return null;
  const { used, ...parts } = partsOf(split);
  const total = fit === null ? used : Math.max(used, totalOf(fit));
  const details = {
    kv: texts.kvMeans(memory.concurrency, memory.contextLength),
    weights: texts.from[memory.weightsFrom],
    overhead: '',
  };
  return (
    <section class="panel padded stack" aria-label={texts.memory}>
      <div class="row between">
        <div>
          <h2>{memory.model === null ? texts.parametersOf(billions) : visible(memory.model)}</h2>
          <p class="small quiet">
            {memory.model === null ? texts.atBits(memory.weightBits) : texts.facts(billions, memory.weightBits)}
            {' · '}
            {texts.perGpu(split.gpus)}
          </p>
        </div>
        <p class="model-total">
          <span class="headline">{fileSize(used)}</span>{' '}
          {fit !== null && <span class="quiet">{texts.of(`${number(total / GB)}\u00a0GB`)}</span>}
        </p>
      </div>
      <Bar split={split} total={total} hasMark={fit !== null} isLarge />
      <dl class="model-parts">
        {PARTS.map((part, index) => (
          <div key={part}>
            <dt>
              <span class={`key-swatch swatch-${'abc'[index]}`} /> {texts[part]}
            </dt>
            <dd>
              <strong class="figure">{fileSize(parts[part])}</strong>
              <span class="small quiet">{details[part]}</span>
            </dd>
          </div>
        ))}
        {fit !== null && (
          <div>
            <dt>
              <span class="mark-swatch" /> {texts.usable}
            </dt>
            <dd>
              <strong class="figure">{fileSize(total * MOST)}</strong>
              <span class="small quiet">{texts.share}</span>
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

/** Maximum share of the memory that vLLM uses, as in `texts.share`. */
const MOST = 0.9;

interface BarProps {
  split: Fit['split'];
  total: number;
  hasMark: boolean;
  isLarge?: boolean;
}

/** Draws the parts of the memory as shares of a machine's total. A mark shows how much of it is usable. */
function Bar({ split, total, hasMark, isLarge = false }: BarProps) {
  const { used: _, ...parts } = partsOf(split);
  const sizes = PARTS.map((part) => parts[part]);
  const percent = (bytes: number) => `${total === 0 ? 0 : Math.min(100, (bytes / total) * 100)}%`;
  const [weights, kv, overhead] = sizes.map(fileSize);
  return (
    <svg
      class={`chart memory-bar${isLarge ? ' tall' : ''}`}
      role="img"
      aria-label={texts.bar(weights!, kv!, overhead!, `${number(total / GB)} GB`)}
    >
      {sizes.map((bytes, index) => (
        <rect
          key={PARTS[index]}
          class={`bar ${'abc'[index]}`}
          x={percent(sizes.slice(0, index).reduce((sum, each) => sum + each, 0))}
          width={percent(bytes)}
          height="100%"
        />
      ))}
      {hasMark && <rect class="mark" x={`${MOST * 100}%`} width="2" height="100%" />}
    </svg>
  );
}

interface TableProps {
  fits: readonly Fit[];
  chosen: Fit | null;
  recommended: Fit | null;
  onChoose(machineId: string): void;
}

function FitTable({ fits, chosen, recommended, onChoose }: TableProps) {
  // If none of them runs containers, there is no point in marking each one.
  const isMarked = fits.some(({ offer }) => offer.hasAgent);
  return (
    <table>
      <caption class="hidden">{texts.caption}</caption>
      <thead>
        <tr>
          <th scope="col">{texts.machineHead}</th>
          <th scope="col" class="fit-memory">
            {texts.memoryHead}
          </th>
          <th scope="col" class="number fit-speed" title={texts.speedHint}>
            {texts.speedHead}
          </th>
          <th scope="col" class="fit-region">
            {texts.regionHead}
          </th>
          <th scope="col" class="number">
            {texts.priceHead}
          </th>
        </tr>
      </thead>
      <tbody>
        {fits.map((fit) => {
          const { offer, split } = fit;
          const name = `${offer.numGpus} × ${shortName(modelName(offer.gpu))}`;
          const total = totalOf(fit);
          const speed = bandwidthOf(offer);
          return (
            <tr key={offer.machineId} class={fit === chosen ? 'chosen' : ''} onClick={() => onChoose(offer.machineId)}>
              <th scope="row">
                <label class="check">
                  <input
                    type="radio"
                    name="machine"
                    aria-label={texts.choose(name)}
                    checked={fit === chosen}
                    onChange={() => onChoose(offer.machineId)}
                  />
                  <span>
                    {offer.numGpus} × <ModelName name={modelName(offer.gpu)} />
                  </span>
                </label>
                {fit === recommended && <span class="badge">{texts.recommended}</span>}
                {isMarked && !offer.hasAgent && (
                  <span class="badge" title={texts.noAgentTitle}>
                    {texts.noAgent}
                  </span>
                )}
              </th>
              <td class="fit-memory">
                <div class="fit-used">
                  <Bar split={split} total={total} hasMark />
                  <span class="small quiet figure">
                    {texts.used(`${fixed(partsOf(split).used / GB, 1)}\u00a0GB`, `${number(total / GB)}\u00a0GB`)}
                  </span>
                </div>
              </td>
              <td class="number fit-speed quiet">{speed === undefined ? '–' : number(speed)}</td>
              <td class="fit-region quiet">{regionName(offer.region)}</td>
              <td class="number">
                <Rate of={micro(offer.pricePerHour.onDemand)} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
