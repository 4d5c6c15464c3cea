import { useSignal } from '@preact/signals';
import { accrued, micro, rate, usd } from '../figures/money.js';
import { bytes, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { useTitle } from '../state/title.js';
import { useVolumes, type Volume } from '../state/volumes.js';
import { DeleteVolume, GrowVolume, NewVolume } from './volume-changes.js';
import { Moments } from './volume-moments.js';
import { OwnRestic } from './volume-restic.js';

const SECONDS_PER_MONTH = 30 * 24 * 3_600;

type Task = 'grow' | 'moments' | 'restic' | 'delete';

/** The account's volumes: disks that survive the machines that instances run on. */
export function Volumes() {
  useTitle('Volumes');
  const { volumes, pricePerGbHour, error, again } = useVolumes();
  const isMaking = useSignal(false);
  const open = useSignal<{ task: Task; id: string; snapshot?: string } | null>(null);
  const volume = volumes?.find(({ id }) => id === open.value?.id);
  const close = () => {
    open.value = null;
    isMaking.value = false;
    again();
  };
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Volumes</h1>
        <button
          type="button"
          class="primary"
          onClick={() => {
            isMaking.value = true;
          }}
        >
          New volume
        </button>
      </div>
      <p>
        A volume is a disk of yours. What an instance writes to it is stored every few minutes and when it stops, so the
        work goes on with any machine.
      </p>
      <Failure error={error} />
      <section class="panel" aria-label="Your volumes">
        {volumes !== null && volumes.length === 0 && (
          <Empty title="No volumes yet">Make one, and choose it when you rent a machine.</Empty>
        )}
        {volumes !== null && volumes.length > 0 && (
          <Table isCards columns={[['Name'], ['Size'], ['Used by'], ['Last snapshot'], ['Do', 'unseen']]}>
            {volumes.map((each) => (
              <Row
                key={each.id}
                volume={each}
                onTask={(task) => {
                  open.value = { task, id: each.id };
                }}
              />
            ))}
          </Table>
        )}
      </section>
      {isMaking.value && <NewVolume pricePerGbHour={pricePerGbHour} onClose={close} />}
      {volume !== undefined && open.value?.snapshot !== undefined && (
        <NewVolume pricePerGbHour={pricePerGbHour} from={{ volume, snapshot: open.value.snapshot }} onClose={close} />
      )}
      {volume !== undefined && open.value?.snapshot === undefined && (
        <Open
          task={open.value!.task}
          volume={volume}
          onPutBack={(snapshot) => {
            open.value = { task: 'moments', id: volume.id, snapshot };
          }}
          onClose={close}
        />
      )}
    </div>
  );
}

function Row({ volume, onTask }: { volume: Volume; onTask(task: Task): void }) {
  const { id, name, sizeGb, priceHr, inUseBy, lastSnapshotAt, storedBytes } = volume;
  const price = micro(priceHr);
  const button = (task: Task, words: string, kind?: string) => (
    <button type="button" class={kind} aria-label={`${words} ${visible(name)}`} onClick={() => onTask(task)}>
      {words}
    </button>
  );
  return (
    <tr>
      <th scope="row" class="wide">
        {visible(name)}
        <div class="small quiet mono">{id}</div>
      </th>
      <td class="wide" data-label="Size">
        {sizeGb} GB
        <div class="small quiet figure">
          {rate(price)} USD/h, {usd(accrued(price, SECONDS_PER_MONTH))} in 30 days
        </div>
      </td>
      <td class="wide" data-label="Used by">
        {inUseBy === null ? (
          <span class="quiet">nobody</span>
        ) : (
          <a class="mono" href={`/instances/${inUseBy}`}>
            {inUseBy}
          </a>
        )}
      </td>
      <td class="wide" data-label="Last snapshot">
        {lastSnapshotAt === null ? <span class="quiet">none yet</span> : <Time at={secondsOf(lastSnapshotAt)} />}
        {storedBytes > 0 && <div class="small quiet">{bytes(storedBytes)} stored</div>}
      </td>
      <td class="number wide">
        <span class="row">
          {button('moments', 'Snapshots')}
          {button('restic', 'Copy in and out')}
          {button('grow', 'Grow')}
          {button('delete', 'Delete', 'danger')}
        </span>
      </td>
    </tr>
  );
}

interface OpenProps {
  task: Task;
  volume: Volume;
  onPutBack(snapshot: string): void;
  onClose(): void;
}

function Open({ task, volume, onPutBack, onClose }: OpenProps) {
  if (task === 'grow') return <GrowVolume volume={volume} onClose={onClose} />;
  if (task === 'delete') return <DeleteVolume volume={volume} onClose={onClose} />;
  if (task === 'restic') return <OwnRestic volume={volume} onClose={onClose} />;
  return <Moments volume={volume} onPutBack={onPutBack} onClose={onClose} />;
}
