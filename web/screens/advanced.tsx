import { useMemo } from 'preact/hooks';
import { Refusal } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Fold } from '../parts/fold.js';
import { DEFAULT_DISK_GB, type useDeployForm } from '../state/deploy-form.js';
import { launchSummary, limitsSummary } from '../state/deploy-summary.js';
import { draft } from '../state/launch-draft.js';
import { EMPTY, volumesOf } from '../state/launch-form.js';
import { setQuery, withQuery } from '../state/location.js';
import { session } from '../state/session.js';
import { texts } from '../texts/en/deploy.js';
import { DeadlineFields, IdleField } from './deadlines.js';
import { LaunchFields } from './launch-fields.js';
import type { Quoted } from './quoted.js';
import { SameAs } from './same-as.js';
import { SaveAs } from './save-as.js';
import { SshKeyFold } from './ssh-key-fold.js';
import { VolumeFields } from './volume-fields.js';

type DeployForm = ReturnType<typeof useDeployForm>;

interface Props {
  form: DeployForm;
  quoted: Quoted | null;
  /** The quote's error, or null. The section with the invalid field opens. */
  error: unknown;
  /** Whether a link filled in the form. Nothing that it set is folded. */
  isByLink: boolean;
  onNewSecret(): void;
}

/** Folded sections for settings that most rentals don't need. The first line of each one summarises its content. */
export function Advanced({ form, quoted, error, isByLink, onNewSecret }: Props) {
  const { template, diskGb, launch, fault, isLimit, machineId, input, terms } = form;
  const isIn = session.value === 'in';
  const wrong = sectionOf(error, form);
  const set = { launch: launchSummary(draft.value, form.plain('labels')), limits: limitsSummary(form) };
  const foreign = useMemo(
    () => ({
      launch: isByLink && set.launch !== null,
      disk: isByLink && diskGb !== DEFAULT_DISK_GB,
      limits: isByLink && set.limits !== null,
    }),
    [],
  );
  return (
    <section class="panel padded deploy-advanced" aria-labelledby="advanced">
      <h2 id="advanced">{texts.advanced}</h2>
      <Fold
        title={texts.launchStep}
        summary={<Summary fault={fault}>{set.launch ?? texts.asTemplate}</Summary>}
        isOpen={foreign.launch || fault !== null || wrong === 'launch'}
      >
        <LaunchFields onNewSecret={onNewSecret} />
      </Fold>
      <Fold
        title={texts.diskStep}
        summary={
          <Summary fault={diskGb === 0 ? texts.badDisk : null}>
            {texts.diskSummary(diskGb, volumesOf(draft.value).length)}
          </Summary>
        }
        isOpen={foreign.disk || diskGb === 0 || wrong === 'disk'}
      >
        <div class="stack">
          <Disk form={form} quoted={quoted} />
          {isIn && <VolumeFields />}
        </div>
      </Fold>
      <Fold
        title={texts.limitsStep}
        summary={<Summary fault={isLimit ? null : texts.badSpendLimit}>{set.limits ?? texts.noLimits}</Summary>}
        isOpen={foreign.limits || !isLimit || wrong === 'limits'}
      >
        <Limits form={form} />
      </Fold>
      <SshKeyFold />
      <Fold title={texts.reuseStep} summary={texts.reuseSummary}>
        <div class="stack">
          <div class="stack-tight">
            <SameAs order={input === null ? null : { machineId: machineId ?? quoted?.machineId ?? null, ...terms }} />
          </div>
          <div class="stack-tight">
            <Copy text={location.origin + withQuery({})} label={texts.share} />
            <p class="small quiet">{texts.shareHint}</p>
          </div>
          {isIn && <SaveAs template={template} diskGb={diskGb} launch={launch} />}
        </div>
      </Fold>
    </section>
  );
}

/** Returns the section that contains the field that the service rejected, if one does. */
function sectionOf(error: unknown, { launch }: DeployForm): 'launch' | 'disk' | 'limits' | null {
  const field = error instanceof Refusal ? error.field : null;
  if (field === null) return null;
  if (['diskGb', 'volumes'].includes(field)) return 'disk';
  if (['stopAt', 'destroyAt', 'stopWhenIdle', 'spendLimit'].includes(field)) return 'limits';
  // A missing variable of the template has its field in the template's own form.
  if (field === 'env' && launch?.env === undefined) return null;
  return field === 'labels' || field in EMPTY ? 'launch' : null;
}

/** Shows a section's fault instead of what is set in it. */
const Summary = ({ fault, children }: { fault: string | null; children: string }) => (
  <span class={fault === null ? '' : 'warn'}>{fault ?? children}</span>
);

function Disk({ form: { disk, type }, quoted }: { form: DeployForm; quoted: Quoted | null }) {
  return (
    <div class="two">
      <label class="field">
        <span>{quoted === null ? texts.disk : texts.diskOf(String(quoted.freeDiskGb))}</span>
        <input
          type="number"
          name="disk"
          min="1"
          value={disk}
          onInput={({ currentTarget }) => type('disk', currentTarget.value)}
        />
      </label>
    </div>
  );
}

function Limits({ form: { plain } }: { form: DeployForm }) {
  const say = (name: string, text: string) => setQuery({ [name]: text }, { replace: true });
  return (
    <div class="stack-tight">
      <p class="small quiet">{texts.limitsLegend}</p>
      <DeadlineFields
        value={{ stopAt: plain('stop-at'), destroyAt: plain('destroy-at') }}
        onType={({ stopAt, destroyAt }) => setQuery({ 'stop-at': stopAt, 'destroy-at': destroyAt }, { replace: true })}
      />
      <div class="two">
        <IdleField value={plain('idle')} onType={(text) => say('idle', text)} />
        <label class="field">
          <span>{texts.spendLimit}</span>
          <input
            name="spend-limit"
            inputMode="decimal"
            maxLength={14}
            autocomplete="off"
            placeholder={texts.spendLimitHint}
            value={plain('limit')}
            onInput={({ currentTarget }) => say('limit', currentTarget.value)}
          />
        </label>
      </div>
    </div>
  );
}
