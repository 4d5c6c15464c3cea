import type { ComponentChildren } from 'preact';
import { micro, rate } from '../figures/money.js';
import { number } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { ModelName, shortName } from '../parts/model-name.js';
import { Field, Select } from '../parts/query-fields.js';
import { MACHINE, machinesPath } from '../state/deploy-link.js';
import { chosenGpus, FILTER_NAMES, TIERS } from '../state/filters.js';
import { query, setQuery, withQuery } from '../state/location.js';
import { modelName, models, modelsOf, regionChoices, regionName } from '../state/market.js';
import { type Offer, scope, vramOf } from '../state/offers.js';
import { texts } from '../texts/en/deploy.js';
import { texts as machines } from '../texts/en/machines.js';
import { GpuCount } from './filters.js';
import type { Quoted } from './quoted.js';

interface Props {
  /** Id of the machine, or null for the best match. */
  machineId: string | null;
  quoted: Quoted | null;
  /** The quoted machine's offer, or null while unknown or not offered. */
  offer: Offer | null;
  /** Whether no machine could be quoted. */
  isNone: boolean;
}

/** Shows the chosen machine, or the requirements for one. */
export function WhichMachine({ machineId, quoted, offer, isNone }: Props) {
  const others = OTHER_REQUIREMENTS.filter((name) => query.value.has(name));
  return (
    <section class="panel padded deploy-step" aria-labelledby="deploy-machine">
      <div class="row between">
        <h2 id="deploy-machine">{texts.machineStep}</h2>
        {machineId === null && (
          <a class="small" href={machinesPath()}>
            {texts.machines}
          </a>
        )}
      </div>
      {machineId === null && <Requirements />}
      {machineId === null && others.length > 0 && (
        <p class="small quiet">{others.map((name) => `${name} ${visible(query.value.get(name) ?? '')}`).join(', ')}</p>
      )}
      {quoted === null ? (
        <div class="which">
          {isNone && machineId === null && scope.value === 'running' && (
            <a class="small" href={withQuery({ agentless: '1' })}>
              {texts.includeAgentless}
            </a>
          )}
        </div>
      ) : (
        <Which quoted={quoted} offer={offer}>
          {machineId === null ? (
            <span class="small quiet which-best" title={texts.bestHint}>
              {texts.best}
            </span>
          ) : (
            <button type="button" class="plain small" onClick={() => setQuery({ [MACHINE]: null }, { replace: true })}>
              {texts.takeBest}
            </button>
          )}
        </Which>
      )}
    </section>
  );
}

/** Requirements that can only be changed on the list of machines. */
const OTHER_REQUIREMENTS = FILTER_NAMES.filter((name) => !['gpu', 'gpus', 'exactly', 'region'].includes(name));

/** Shows the most common requirements. The others are on the list of machines. */
function Requirements() {
  const chosen = chosenGpus.value.join(',');
  return (
    <div class="requirements">
      <Field label={texts.model}>
        <select
          name="gpu"
          value={chosen}
          onChange={({ currentTarget }) => setQuery({ gpu: currentTarget.value, q: null }, { replace: true })}
        >
          <option value="">{texts.anyModel}</option>
          {chosen !== '' && !models.value.has(chosen) && (
            <option value={chosen}>{chosenGpus.value.map((slug) => shortName(modelName(slug))).join(', ')}</option>
          )}
          {TIERS.map((tier) => (
            <optgroup key={tier} label={machines.tiers[tier]}>
              {modelsOf(tier).map((model) => (
                <option key={model.slug} value={model.slug}>
                  {texts.modelOption(shortName(model.name), rate(micro(model.pricePerGpuHour.onDemand)))}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </Field>
      <GpuCount />
      <Field label={texts.region}>
        <Select name="region" options={regionChoices.value} />
      </Field>
    </div>
  );
}

/** Says whether the machine runs containers and whether its GPUs are simulated. */
function Runs({ of: { demo, hasAgent, netMbps } }: { of: Offer }) {
  if (hasAgent && !demo) return <p class="small quiet">{texts.real(number(netMbps.down))}</p>;
  return (
    <p class="small quiet">
      <Icon name="info" /> {hasAgent ? texts.trial : demo ? texts.demo : texts.record}
    </p>
  );
}

interface WhichProps {
  quoted: Quoted;
  offer: Offer | null;
  children: ComponentChildren;
}

function Which({ quoted: { machineId, machine }, offer, children }: WhichProps) {
  const vram = vramOf(machine);
  return (
    <div class="which">
      <div class="row between">
        <p>
          <strong>
            {machine.numGpus} × <ModelName name={modelName(machine.gpu)} />
          </strong>{' '}
          <span class="quiet">
            {vram === undefined ? null : texts.with(number(vram))} {texts.where(regionName(machine.region))}
          </span>
        </p>
        {children}
      </div>
      <p class="small quiet which-hardware">
        {offer !== null && texts.hardware(visible(offer.cpu), offer.vcpus, offer.ramGb)}
        <span class="which-id">
          {offer !== null && ' · '}
          <span class="id mono">{machineId}</span>
        </span>
      </p>
      {offer !== null && <Runs of={offer} />}
    </div>
  );
}
