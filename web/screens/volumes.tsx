import { useSignal } from '@preact/signals';
import { accrued, micro, rate, usd } from '../figures/money.js';
import { bytes, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { instanceName } from '../state/account.js';
import { useTitle } from '../state/title.js';
import { useVolumes, type Volume } from '../state/volumes.js';
import { texts as house } from '../texts/en/house.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/volumes.js';
import { DeleteVolume, GrowVolume, NewVolume } from './volume-changes.js';
import { Moments } from './volume-moments.js';
import { OwnRestic } from './volume-restic.js';

const SECONDS_PER_MONTH = 30 * 24 * 3_600;

type Task = 'grow' | 'moments' | 'restic' | 'delete';

/** Shows the account's volumes, which are disks that outlive the machines on which its instances run. */
export function Volumes() {
  useTitle(screens['/volumes']);
  const { volumes, pricePerGbHour, error, again } = useVolumes();
  const isCreating = useSignal(false);
  const open = useSignal<{ task: Task; id: string; snapshot?: string } | null>(null);
  const volume = volumes?.find(({ id }) => id === open.value?.id);
  const close = () => {
    open.value = null;
    isCreating.value = false;
    again();
  };
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>{screens['/volumes']}</h1>
        <button
          type="button"
          class="primary"
          onClick={() => {
            isCreating.value = true;
          }}
        >
          {texts.create}
        </button>
      </div>
      <p>{texts.lead}</p>
      <Failure error={error} />
      <section class="panel" aria-label={texts.yours}>
        {volumes !== null && volumes.length === 0 && (
          <Empty icon="hard-drive" title={texts.none}>
            {texts.noneHint}
          </Empty>
        )}
        {volumes !== null && volumes.length > 0 && (
          <Table
            isCards
            columns={[[texts.name], [texts.size], [texts.usedBy], [texts.lastSnapshot], [texts.actions, 'unseen']]}
          >
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
      {isCreating.value && <NewVolume pricePerGbHour={pricePerGbHour} onClose={close} />}
      {volume !== undefined && open.value?.snapshot !== undefined && (
        <NewVolume pricePerGbHour={pricePerGbHour} from={{ volume, snapshot: open.value.snapshot }} onClose={close} />
      )}
      {volume !== undefined && open.value !== null && open.value.snapshot === undefined && (
        <Open
          task={open.value.task}
          volume={volume}
          onRestore={(snapshot) => {
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
  const item = (task: Task, icon: string): MenuItem => ({
    name: texts.tasks[task],
    label: texts.taskOf(texts.tasks[task], visible(name)),
    icon,
    isDanger: task === 'delete',
    onChoose: () => onTask(task),
  });
  return (
    <tr>
      <th scope="row" class="wide">
        {visible(name)}
        <div class="small quiet mono">{id}</div>
      </th>
      <td class="wide" data-label={texts.size}>
        {sizeGb} GB
        <div class="small quiet figure">{texts.price(rate(price), usd(accrued(price, SECONDS_PER_MONTH)))}</div>
      </td>
      <td class="wide" data-label={texts.usedBy}>
        {inUseBy === null ? (
          <span class="quiet">{texts.unused}</span>
        ) : (
          <a class="mono" href={`/instances/${inUseBy}`}>
            {instanceName(inUseBy)}
          </a>
        )}
      </td>
      <td class="wide" data-label={texts.lastSnapshot}>
        {lastSnapshotAt === null ? (
          <span class="quiet">{texts.noSnapshot}</span>
        ) : (
          <Time at={secondsOf(lastSnapshotAt)} />
        )}
        {storedBytes > 0 && <div class="small quiet">{texts.saved(bytes(storedBytes))}</div>}
      </td>
      <td class="number wide">
        <Menu
          label={house.actionsOf(visible(name))}
          items={[item('moments', 'history'), item('restic', 'copy'), item('grow', 'plus'), item('delete', 'trash-2')]}
        />
      </td>
    </tr>
  );
}

interface OpenProps {
  task: Task;
  volume: Volume;
  onRestore(snapshot: string): void;
  onClose(): void;
}

function Open({ task, volume, onRestore, onClose }: OpenProps) {
  if (task === 'grow') return <GrowVolume volume={volume} onClose={onClose} />;
  if (task === 'delete') return <DeleteVolume volume={volume} onClose={onClose} />;
  if (task === 'restic') return <OwnRestic volume={volume} onClose={onClose} />;
  return <Moments volume={volume} onRestore={onRestore} onClose={onClose} />;
}
