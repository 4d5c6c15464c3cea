import type { ComponentChildren } from 'preact';
import { loneRate, micro } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { Progress, runtimeText, stopReason } from '../parts/status.js';
import { balanceNow, type Instance, rateOf } from '../state/account.js';
import { texts } from '../texts/en/instance.js';
import type { Read } from './instance-read.js';

const STEPS = ['WAITING', 'PULLING', 'RESTORING', 'STARTING', 'RUNNING'] as const;

/** Returns whether the instance's container is being created. */
export const isStarting = ({ status, runtime }: Instance): boolean =>
  status === 'RUNNING' && runtime?.reachable === true && STEPS.slice(0, -1).includes(runtime.phase as 'WAITING');

/**
 * Shows why the instance can't be used: the progress of its start, why the start failed, or what being stopped means.
 */
export function Stage({ instance, start }: { instance: Instance; start: Read['canStart'] }) {
  const { id, status, runtime, diskGb, diskPriceHr } = instance;
  const phase = runtime?.phase;
  const log = (
    <a class="button primary justify-start" href={`/instances/${id}?tab=log`}>
      {texts.showLog}
    </a>
  );
  const message = runtime?.message && <p class="notice mono small">{visible(runtime.message)}</p>;
  if (status === 'DESTROYED') return <StageNote title={texts.destroyed}>{texts.destroyedHint}</StageNote>;
  if (phase === 'FAILED')
    return (
      <StageNote title={texts.failed} after={[message, log]}>
        {texts.failedHint}
      </StageNote>
    );
  if (status === 'STOPPED')
    return (
      <StageNote title={texts.stopped} after={<CannotStart instance={instance} start={start} />}>
        {instance.stopReason !== 'USER' && `${texts.stopReason(stopReason(instance) ?? '')} `}
        {texts.stoppedHint(diskGb, loneRate(micro(diskPriceHr)))}
      </StageNote>
    );
  if (runtime === null)
    return (
      <p class="quiet">
        <Icon name="info" /> {texts.recordOnly}
      </p>
    );
  if (phase === 'EXITED')
    return (
      <StageNote title={texts.ended} after={[message, log]}>
        {texts.endedHint(runtime.exitCode)}
      </StageNote>
    );
  if (!runtime.reachable) return <StageNote title={texts.unreachable}>{texts.unreachableHint}</StageNote>;
  if (!isStarting(instance))
    return runtime.phase === 'RUNNING' ? null : (
      <div class="stack-tight">
        <p class="quiet">{runtimeText(runtime)}</p>
        {message}
      </div>
    );
  const at = (STEPS as readonly unknown[]).indexOf(phase);
  return (
    <div class="stack-tight">
      <h2>{texts.preparing}</h2>
      <ol class="steps-of-start">
        {STEPS.filter((step) => step !== 'RESTORING' || phase === 'RESTORING').map((step) => {
          const place = STEPS.indexOf(step);
          return (
            <li key={step} class={place < at ? 'done' : ''} aria-current={place === at ? 'step' : undefined}>
              <Icon name={place < at ? 'circle-check' : place === at ? 'loader-circle' : 'square'} />
              {texts.steps[step]}
              {place === at && <Progress runtime={runtime} />}
            </li>
          );
        })}
      </ol>
      {message}
      <p class="small quiet">{texts.preparingHint}</p>
    </div>
  );
}

interface NoteProps {
  title: string;
  after?: ComponentChildren;
  children: ComponentChildren;
}

const StageNote = ({ title, after, children }: NoteProps) => (
  <div class="stack-tight justify-start">
    <h2>{title}</h2>
    <p class="quiet">{children}</p>
    {after}
  </div>
);

function CannotStart({ instance, start }: { instance: Instance; start: Read['canStart'] }) {
  if (start?.refusal == null) return null;
  return (
    <p class="notice warn">
      {texts.cannotStart(visible(start.refusal.message), loneRate(rateOf(instance)))}
      {balanceNow.value < micro(start.coverNeeded) && (
        <>
          {' '}
          <a href="/billing">{texts.addCredit}</a>
        </>
      )}
    </p>
  );
}
