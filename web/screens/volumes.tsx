import { useSignal } from '@preact/signals';
import { accrued, type Micro, micro, rate, sum } from '../figures/money.js';
import { fixed, number, percent } from '../figures/number.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Ago } from '../parts/ago.js';
import { Amount, Rate } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { shortName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { instanceName, settled } from '../state/account.js';
import { draft } from '../state/launch-draft.js';
import { EMPTY } from '../state/launch-form.js';
import { go } from '../state/location.js';
import { modelName, useSheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { FIRST_PATH, useVolumes, type Volume } from '../state/volumes.js';
import { texts as house } from '../texts/en/house.js';
import { texts as instanceTexts } from '../texts/en/instance.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/volumes.js';
import { DeleteVolume, GrowVolume, NewVolume } from './volume-changes.js';
import { Moments } from './volume-moments.js';
import { OwnRestic } from './volume-restic.js';

const BYTES_PER_GB = 1e9;
const SECONDS_PER_MONTH = 30 * 24 * 3_600;
/** With more volumes than this, their owner knows how they work. */
const MAX_EXPLAINED = 3;
const POINT_ICONS = ['refresh-cw', 'server', 'history'] as const;

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
      <div class="row between volumes-head">
        <h1 tabIndex={-1}>{screens['/volumes']}</h1>
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
      <Failure error={error} />
      {volumes !== null && volumes.length > 0 && <Figures of={volumes} pricePerGbHour={pricePerGbHour} />}
      {volumes !== null && (
        <section class="panel volumes" aria-label={texts.yours}>
          {volumes.length === 0 ? (
            <Empty icon="hard-drive" title={texts.none}>
              {texts.noneHint}
            </Empty>
          ) : (
            <Table
              isCards
              columns={[
                [texts.name],
                [texts.usedBy, undefined, 'volume-use'],
                [texts.stored, undefined, 'volume-stored'],
                [texts.lastSnapshot, undefined, 'volume-saved'],
                [texts.rate, 'number', 'volume-rate'],
                [texts.monthlyRate, 'number', 'volume-month', texts.monthlyHint],
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
      )}
      {volumes !== null && volumes.length <= MAX_EXPLAINED && <HowTheyWork />}
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

interface FiguresProps {
  of: readonly Volume[];
  pricePerGbHour: number | null;
}

/** Shows the totals of all volumes. Each figure has one detail below it. */
function Figures({ of: volumes, pricePerGbHour }: FiguresProps) {
  const total = (part: (volume: Volume) => number) => volumes.reduce((all, volume) => all + part(volume), 0);
  const size = total(({ sizeGb }) => sizeGb);
  const stored = total(({ storedBytes }) => storedBytes) / BYTES_PER_GB;
  const unused = total(({ inUseBy }) => (inUseBy === null ? 1 : 0));
  const cost = volumes.reduce((all, { priceHr }) => all + micro(priceHr), 0n);
  const figures = [
    ['count', number(volumes.length), null, texts.unusedOf(unused)],
    [
      'size',
      number(size),
      'GB',
      pricePerGbHour !== null && texts.perGb(rate(accrued(micro(pricePerGbHour), SECONDS_PER_MONTH))),
    ],
    [
      'stored',
      gigabytes(stored),
      'GB',
      stored > 0 ? texts.ofSize(percent((stored / size) * 100)) : texts.nothingStored,
    ],
  ] as const;
  return (
    <section class="panel" aria-label={texts.totals}>
      <dl class="home-figures volume-figures">
        {figures.map(([name, value, unit, detail]) => (
          <div key={name}>
            <dt class="small quiet">{texts.figures[name]}</dt>
            <dd class="headline">
              {value} {unit !== null && <span class="unit">{unit}</span>}
            </dd>
            <dd class="small quiet">{detail}</dd>
          </div>
        ))}
        <div>
          <dt class="small quiet">{texts.figures.cost}</dt>
          <dd class="headline">
            <Amount of={cost} unit="USD/h" />
          </dd>
          <dd class="small quiet">{texts.perMonth(monthly(cost))}</dd>
        </div>
      </dl>
    </section>
  );
}

/** Formats a size in GB, with decimals only where they say something. */
const gigabytes = (size: number): string => (size === 0 ? '0' : fixed(size, size < 1 ? 2 : size < 10 ? 1 : 0));

const monthly = (ratePerHour: Micro): string => sum(accrued(ratePerHour, SECONDS_PER_MONTH));

const HowTheyWork = () => (
  <section class="panel" aria-labelledby="how">
    <div class="panel-head">
      <h2 id="how">{texts.how}</h2>
    </div>
    <ul class="volume-points">
      {texts.points.map(([title, text], place) => (
        <li key={title}>
          <Icon name={POINT_ICONS[place]!} />
          <h3>{title}</h3>
          <p class="small quiet">{text}</p>
        </li>
      ))}
    </ul>
  </section>
);

interface RowProps {
  volume: Volume;
  onTask(task: Task): void;
}

function Row({ volume, onTask }: RowProps) {
  const { id, name, sizeGb, priceHr, inUseBy, lastSnapshotAt, storedBytes } = volume;
  const price = micro(priceHr);
  const stored = storedBytes / BYTES_PER_GB;
  const storedText = texts.storedOf(gigabytes(stored), number(sizeGb));
  const item = (task: Task, icon: string): MenuItem => ({
    name: texts.tasks[task],
    label: texts.taskOf(texts.tasks[task], visible(name)),
    icon,
    isDanger: task === 'delete',
    onChoose: () => onTask(task),
  });
  const deploy = () => {
    draft.value = { ...EMPTY, volumes: [{ id, path: FIRST_PATH }] };
    go('/deploy');
  };
  return (
    <tr>
      <th scope="row">
        <span class="volume-name">{visible(name)}</span>
        <span class="small quiet mono id">{id}</span>
      </th>
      <td class="volume-use">
        {inUseBy === null ? (
          <>
            <span class="quiet">{texts.unused}</span>
            <button type="button" class="plain small" aria-label={texts.deployWith(visible(name))} onClick={deploy}>
              {texts.deploy}
            </button>
          </>
        ) : (
          <UsedBy id={inUseBy} />
        )}
      </td>
      <td class="volume-stored">
        <span class="figure">{storedText}</span>
        <progress aria-label={texts.stored} aria-valuetext={storedText} value={Math.min(stored, sizeGb)} max={sizeGb} />
      </td>
      <td class="volume-saved" data-label={lastSnapshotAt === null ? undefined : texts.lastSnapshot}>
        {lastSnapshotAt === null ? (
          <span class="quiet">{texts.noSnapshot}</span>
        ) : (
          <span>
            <Ago at={secondsOf(lastSnapshotAt)} />
          </span>
        )}
      </td>
      <td class="number volume-rate">
        <Rate of={price} />
      </td>
      <td class="number volume-month">{monthly(price)}</td>
      <td class="at-end">
        <Menu
          label={house.actionsOf(visible(name))}
          items={[item('moments', 'history'), item('restic', 'copy'), item('grow', 'plus'), item('delete', 'trash-2')]}
        />
      </td>
    </tr>
  );
}

/** Links to the instance that uses a volume. */
function UsedBy({ id }: { id: string }) {
  useSheet();
  const instance = settled.value?.instances.find((each) => each.id === id);
  return (
    <>
      <a class="id" href={`/instances/${id}`}>
        {instanceName(id)}
      </a>
      {instance !== undefined && (
        <span class="small quiet">{instanceTexts.gpus(instance.numGpus, shortName(modelName(instance.gpu)))}</span>
      )}
    </>
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
