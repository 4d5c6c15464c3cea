import { useSignal } from '@preact/signals';
import { accrued, micro, sum } from '../figures/money.js';
import { fixed, number } from '../figures/number.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount, Rate } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { instanceName } from '../state/account.js';
import { draft } from '../state/launch-draft.js';
import { EMPTY } from '../state/launch-form.js';
import { go } from '../state/location.js';
import { useTitle } from '../state/title.js';
import { FIRST_PATH, useVolumes, type Volume } from '../state/volumes.js';
import { texts as house } from '../texts/en/house.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/volumes.js';
import { DeleteVolume, GrowVolume, NewVolume } from './volume-changes.js';
import { Moments } from './volume-moments.js';
import { OwnRestic } from './volume-restic.js';

const BYTES_PER_GB = 1e9;
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
      <div>
        <div class="row between volumes-head">
          <div class="title-line">
            <h1 tabIndex={-1}>{screens['/volumes']}</h1>
            {volumes !== null && volumes.length > 0 && (
              <p class="small quiet figure">
                {texts.total(volumes.reduce((size, { sizeGb }) => size + sizeGb, 0))}
                {' · '}
                <Amount of={volumes.reduce((total, { priceHr }) => total + micro(priceHr), 0n)} unit="USD/h" />
              </p>
            )}
          </div>
          <button
            type="button"
            class="primary"
            onClick={() => {
              isCreating.value = true;
            }}
          >
            <Icon name="plus" />
            {texts.create}
          </button>
        </div>
        <p class="small quiet volumes-lead">{texts.lead}</p>
      </div>
      <Failure error={error} />
      <section class="panel volumes" aria-label={texts.yours}>
        {volumes !== null && volumes.length === 0 && (
          <Empty icon="hard-drive" title={texts.none}>
            {texts.noneHint}
          </Empty>
        )}
        {volumes !== null && volumes.length > 0 && (
          <Table
            isCards
            class="listing"
            columns={[
              [texts.name],
              [texts.usedBy],
              [texts.size, 'number'],
              [texts.stored, 'number'],
              [texts.lastSnapshot, undefined, 'volume-saved'],
              [texts.rate, 'number'],
              [texts.actions, 'unseen', 'at-end'],
            ]}
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

interface RowProps {
  volume: Volume;
  onTask(task: Task): void;
}

function Row({ volume, onTask }: RowProps) {
  const { id, name, sizeGb, priceHr, inUseBy, lastSnapshotAt, storedBytes } = volume;
  const price = micro(priceHr);
  const item = (task: Task, icon: string): MenuItem => ({
    name: texts.tasks[task],
    label: texts.taskOf(texts.tasks[task], visible(name)),
    icon,
    isDanger: task === 'delete',
    onChoose: () => onTask(task),
  });
  const deploy: MenuItem = {
    name: texts.deploy,
    label: texts.deployWith(visible(name)),
    icon: 'play',
    onChoose: () => {
      draft.value = { ...EMPTY, volumes: [{ id, path: FIRST_PATH }] };
      go('/deploy');
    },
  };
  return (
    <tr>
      <th scope="row">
        {visible(name)} <span class="small quiet mono id">{id}</span>
      </th>
      <td class="volume-use" data-size={`${number(sizeGb)} GB`}>
        {inUseBy === null ? (
          <span class="quiet">{texts.unused}</span>
        ) : (
          <a class="id" href={`/instances/${inUseBy}`}>
            {instanceName(inUseBy)}
          </a>
        )}
      </td>
      <td class="number no-card">{number(sizeGb)}</td>
      <td class="number no-card">{storedBytes > 0 ? fixed(storedBytes / BYTES_PER_GB, 2) : '–'}</td>
      <td class="nowrap no-card volume-saved">
        {lastSnapshotAt === null ? (
          <span class="badge">{texts.noSnapshot}</span>
        ) : (
          <LocalTime at={secondsOf(lastSnapshotAt)} />
        )}
      </td>
      <td class="number volume-rate" title={texts.in30Days(sum(accrued(price, SECONDS_PER_MONTH)))}>
        <Rate of={price} />
      </td>
      <td class="at-end">
        <Menu
          label={house.actionsOf(visible(name))}
          items={[
            ...(inUseBy === null ? [deploy] : []),
            item('moments', 'history'),
            item('restic', 'copy'),
            item('grow', 'plus'),
            item('delete', 'trash-2'),
          ]}
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
