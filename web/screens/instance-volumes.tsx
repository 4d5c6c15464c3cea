import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useMemo } from 'preact/hooks';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { MoveInstance, type OneInstance, ReleaseVolume } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { LocalTime } from '../parts/local-time.js';
import { Failure, NotArrived } from '../parts/notice.js';
import { type Instance, takeInstance } from '../state/account.js';
import { go } from '../state/location.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { modelName } from '../state/market.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/instance-volumes.js';

type Attached = NonNullable<ResultOf<typeof OneInstance>['instance']>['volumes'][number];

interface Props {
  instance: Instance;
  volumes: readonly Attached[];
  onChanged(): void;
}

/** Shows the instance's volumes and how much of them is saved, and lets the user move the instance to another host. */
export function InstanceVolumes({ instance, volumes, onChanged }: Props) {
  const isMoving = useSignal(false);
  const releasing = useSignal<Attached | null>(null);
  const isRunning = instance.status === 'RUNNING';
  const mayMove = !isRunning || instance.runtime?.phase === 'UNREACHABLE';
  return (
    <section class="panel padded stack" aria-labelledby="instance-volumes">
      <div class="row between">
        <h2 id="instance-volumes">{texts.title}</h2>
        {mayMove && (
          <button
            type="button"
            onClick={() => {
              isMoving.value = true;
            }}
          >
            {texts.move}
          </button>
        )}
      </div>
      {volumes.map((volume) => (
        <div class="stack-tight" key={volume.id}>
          <p class="row between">
            <span>
              {texts.at(
                <a href="/volumes">{visible(volume.volume.name)}</a>,
                <span class="mono">{visible(volume.path)}</span>,
              )}
            </span>
            {volume.holdsLease && !isRunning && (
              <button
                type="button"
                aria-label={texts.releaseThis(visible(volume.volume.name))}
                onClick={() => {
                  releasing.value = volume;
                }}
              >
                {texts.release}
              </button>
            )}
          </p>
          <p class="small quiet">
            <Saved volume={volume} isRunning={isRunning} />
          </p>
          {volume.message !== null && <p class="notice warn small">{visible(volume.message)}</p>}
        </div>
      ))}
      {isMoving.value && (
        <Move
          instance={instance}
          onClose={() => {
            isMoving.value = false;
          }}
        />
      )}
      {releasing.value !== null && (
        <Release
          volume={releasing.value}
          onClose={() => {
            releasing.value = null;
            onChanged();
          }}
        />
      )}
    </section>
  );
}

function Saved({ volume, isRunning }: { volume: Attached; isRunning: boolean }) {
  const { holdsLease, lastSnapshotAt, lostSince } = volume;
  const last = lastSnapshotAt === null ? null : <LocalTime at={secondsOf(lastSnapshotAt)} />;
  if (volume.volume.deletedAt !== null) return <>{texts.deleted}</>;
  if (lostSince !== null) return <span class="bad">{texts.lost(<LocalTime at={secondsOf(lostSince)} />)}</span>;
  if (!holdsLease) return <>{texts.allSaved}</>;
  if (isRunning) return last === null ? texts.noSnapshot : texts.savedTo(last);
  return last === null ? texts.saving : texts.savingTo(last);
}

/** A dialog that rents the best similar machine with the same launch and volumes. */
function Move({ instance, onClose }: { instance: Instance; onClose(): void }) {
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const { isBusy, error, run } = useWork();
  const price = useSignal(String(instance.priceHr));
  const show = ({ id }: Instance) => go(`/instances/${id}`);
  const isNotRented = useLostAnswer(idempotencyKey, error.value, show);
  const move = async (event: Event) => {
    event.preventDefault();
    await run(async () => {
      const variables = { id: instance.id, maxPricePerHour: Number(price.value), idempotencyKey };
      const { moveInstance } = await send(MoveInstance, variables);
      if (moveInstance === null) return;
      takeInstance(moveInstance);
      show(moveInstance);
    });
  };
  return (
    <Dialog title={texts.move} isNarrow onClose={onClose}>
      <form onSubmit={move}>
        <div class="dialog-body stack">
          <p>{texts.moveHint(instance.numGpus, modelName(instance.gpu))}</p>
          <label class="field">
            <span>{texts.atMost}</span>
            <input
              type="number"
              name="max-price"
              required
              min="0"
              step="any"
              value={price.value}
              onInput={({ currentTarget }) => {
                price.value = currentTarget.value;
              }}
            />
          </label>
          {isNotRented ? <NotArrived>{texts.nothingRented}</NotArrived> : <Failure error={error.value} />}
        </div>
        <div class="dialog-end">
          <button type="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" aria-disabled={isBusy.value}>
            {isBusy.value ? texts.renting : texts.doMove}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Release({ volume, onClose }: { volume: Attached; onClose(): void }) {
  const { isBusy, error, run } = useWork();
  const release = async () => {
    if (await run(() => send(ReleaseVolume, { id: volume.id }))) onClose();
  };
  return (
    <Dialog title={texts.releaseQuestion(visible(volume.volume.name))} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p>
          {volume.lastSnapshotAt === null
            ? texts.releaseHint
            : texts.releaseHintAt(<LocalTime at={secondsOf(volume.lastSnapshotAt)} />)}
        </p>
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {texts.wait}
        </button>
        <button type="button" class="danger" aria-disabled={isBusy.value} onClick={release}>
          {texts.doRelease}
        </button>
      </div>
    </Dialog>
  );
}
