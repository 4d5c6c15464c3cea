import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { dayBefore } from '../figures/day.js';
import { isNamed, titleOf } from '../figures/instance-title.js';
import { exact, loneRate, micro, usd } from '../figures/money.js';
import { serviceCreditText } from '../figures/service-credit.js';
import {
  type Charge,
  inOrder,
  isStorage,
  type Line,
  type Order,
  type Rounded,
  type Row,
  statementRows,
  totalOf,
} from '../figures/statement.js';
import { duration, exactTime, secondsOf, utcMoment, utcSpan } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount } from '../parts/amount.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { instanceName } from '../state/account.js';
import { serverDay } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import type { MoneyRead } from '../state/money-read.js';
import { useWork } from '../state/work.js';
import { locale } from '../texts/en/locale.js';
import { texts } from '../texts/en/statement.js';
import type { Props as DownloadsProps, Stated } from './downloads.js';

const Downloads = loaded<DownloadsProps>(async () => (await import('./downloads.js')).Downloads);

const MONTHS = 12;
/** Number of changes shown before the user requests more, in a wide window and on a phone. */
const [FIRST, FIRST_NARROW] = [12, 5];
/** Maximum number of changes shown. The download contains all of them. */
const SHOWN = 200;
/** Charges for time. All others are explained in their row. */
const TIMED: readonly Line['kind'][] = ['GPU', 'DISK', 'VOLUME'];

/** Returns the months to choose from, newest first. */
const months = (): string[] =>
  Array.from({ length: MONTHS }, (_, back) => monthsBefore(serverDay.value.slice(0, 7), back));

/** Returns the UTC month selected in the URL, or the current one. */
function chosenMonth(): string {
  const all = months();
  return all.find((month) => month === query.value.get('month')) ?? all[0]!;
}

/** The variables of the query for the selected month's statement and the names of what was rented in it. */
export function statedPeriod() {
  const [first, next] = [`${chosenMonth()}-01`, `${monthsBefore(chosenMonth(), -1)}-01`];
  return { from: `${first}T00:00:00Z`, to: `${next}T00:00:00Z`, firstStated: first, lastStated: dayBefore(next) };
}

/** Returns the order of the rows selected in the URL, or newest first. */
function chosenOrder(): Order {
  const order = query.value.get('order');
  return order === 'oldest' || order === 'cost' ? order : 'newest';
}

const chooseOrder = (order: Order) => () => setQuery({ order: order === 'newest' ? null : order }, { replace: true });

type Rented = NonNullable<MoneyRead['stated']>['instances'];
type Volumes = NonNullable<MoneyRead['volumes']>;

interface Props {
  stated: Stated | null;
  /** The instances with the highest cost in the month, which have names even if they no longer exist. */
  rented: Rented;
  volumes: Volumes;
  /** Shown below the lines. */
  children: ComponentChildren;
}

/** Shows the changes to the balance within a UTC month line by line. */
export function Statement({ stated, rented, volumes, children }: Props) {
  const work = useWork();
  return (
    <section class="panel" aria-labelledby="statement">
      <div class="panel-head">
        <h2 id="statement">{texts.title}</h2>
        <div class="row">
          <select
            aria-label={texts.month}
            value={chosenMonth()}
            onChange={({ currentTarget }) => setQuery({ month: currentTarget.value })}
          >
            {months().map((value) => (
              <option key={value} value={value}>
                {monthName(value)}
              </option>
            ))}
          </select>
          {stated !== null && <Downloads stated={stated} work={work} />}
        </div>
      </div>
      {work.error.value !== null && (
        <div class="padded">
          <Failure error={work.error.value} />
        </div>
      )}
      {stated !== null && <Lines key={stated.from} stated={stated} rented={rented} volumes={volumes} />}
      {children}
    </section>
  );
}

function Lines({ stated, rented, volumes }: { stated: Stated; rented: Rented; volumes: Volumes }) {
  const { openingBalance, closingBalance, from, to } = stated;
  const order = chosenOrder();
  const rows = useMemo(() => inOrder(statementRows(stated), order), [stated, order]);
  const names = useMemo(
    () =>
      new Map<string, Named>([
        ...rented.map((one) => [one.instanceId, { ...one, id: one.instanceId }] as const),
        ...volumes.map((volume) => [volume.id, { ...volume, template: '' }] as const),
      ]),
    [rented, volumes],
  );
  const first = matchMedia('(max-width: 44rem)').matches ? FIRST_NARROW : FIRST;
  const isOpen = useSignal(false);
  const open = () => {
    isOpen.value = true;
  };
  if (rows.length === 0)
    return (
      <Empty icon="file-text" title={texts.none}>
        {texts.noneWhat}
      </Empty>
    );
  const shown = rows.slice(0, isOpen.value ? SHOWN : first);
  const hidden = rows.slice(shown.length);
  const isOpenMonth = from.startsWith(months()[0]!);
  const opening = <Total name={texts.opening} at={from} amount={openingBalance} />;
  const closing = <Total name={isOpenMonth ? texts.now : texts.closing} at={to} amount={closingBalance} />;
  return (
    <>
      <Table
        isCards
        class="listing statement"
        columns={[
          [texts.what],
          [
            texts.when,
            undefined,
            '',
            undefined,
            {
              order: order === 'newest' ? 'descending' : order === 'oldest' ? 'ascending' : null,
              onChoose: chooseOrder(order === 'newest' ? 'oldest' : 'newest'),
            },
          ],
          [texts.span, 'number', 'widest-only'],
          [texts.gpus, 'number'],
          [texts.storage, 'number'],
          [
            texts.usd,
            'number',
            '',
            texts.usdHint,
            {
              order: order === 'cost' ? 'ascending' : null,
              onChoose: chooseOrder(order === 'cost' ? 'newest' : 'cost'),
            },
          ],
        ]}
      >
        {order === 'oldest' ? opening : closing}
        {shown.map((row) =>
          'charge' in row ? (
            <ChargeRow key={row.charge.id} charge={row.charge} names={names} />
          ) : (
            <MovementRow of={row} names={names} />
          ),
        )}
        {hidden.length > 0 && <Hidden rows={hidden} onOpen={isOpen.value ? null : open} />}
        {order === 'oldest' ? closing : opening}
      </Table>
      <div class="list-end row between small">
        <a href="/verify">{texts.verify}</a>
        {isOpen.value && hidden.length > 0 && <span class="quiet">{texts.shown(SHOWN)}</span>}
        {isOpen.value && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              isOpen.value = false;
            }}
          >
            {texts.fewer}
          </button>
        )}
      </div>
    </>
  );
}

/** A credit, a correction or a refund. */
function MovementRow({ of: { movement, amount }, names }: { of: Extract<Row, { movement: unknown }>; names: Names }) {
  const { at, kind, note, reference, instanceId } = movement;
  return (
    <tr>
      <th scope="row">
        <span class="statement-item">
          <span>{texts.movements[kind]}</span>
          {instanceId !== null && <Subject id={instanceId} names={names} />}
          {note !== null && <Note text={visible(kind === 'SERVICE_CREDIT' ? serviceCreditText(note) : note)} />}
          {reference !== null && <span class="mono quiet">{visible(reference)}</span>}
        </span>
      </th>
      <td class="nowrap card-start">
        <Moment at={at} />
      </td>
      <NoSplit />
      <td class="number">
        <Amount of={amount.exact} shown={amount.shown} isSigned />
      </td>
    </tr>
  );
}

/** All charges of an instance or a volume. The rates and times of its parts appear on hover. */
function ChargeRow({ charge, names }: { charge: Charge; names: Names }) {
  const { id, isVolume, from, to, seconds, gpus, storage, amount, lines } = charge;
  const rates = (isPart: (line: Line) => boolean) =>
    lines
      .filter(isPart)
      .map(({ kind, seconds, ratePerHour, amount }) =>
        texts.part(texts.kinds[kind], duration(seconds), loneRate(micro(ratePerHour)), exact(micro(amount))),
      )
      .join('\n');
  // Charges other than for time are explained.
  const extras = [...new Set(lines.map(({ kind }) => kind))].filter((kind) => !TIMED.includes(kind));
  return (
    <tr>
      <th scope="row">
        <span class="statement-item">
          {isVolume ? <VolumeName id={id} name={names.get(id)?.name} /> : <Subject id={id} names={names} />}
          {isVolume && <Note text={texts.kinds.VOLUME} />}
          {extras.length > 0 && <Note text={texts.including(extras.map((kind) => texts.kinds[kind]).join(', '))} />}
        </span>
      </th>
      <td class="nowrap card-start">
        <Between from={from} to={to} />
      </td>
      <td class="number no-card widest-only quiet">{seconds > 0 && duration(seconds)}</td>
      <td class="number no-card quiet" title={rates((line) => !isStorage(line))}>
        {!isVolume && <Part of={gpus} />}
      </td>
      <td class="number no-card quiet" title={rates(isStorage)}>
        <Part of={storage} />
      </td>
      <td class="number">
        <Amount of={amount.exact} shown={amount.shown} />
      </td>
    </tr>
  );
}

const Part = ({ of: { exact, shown } }: { of: Rounded }) =>
  exact === 0n ? <>–</> : <span class="figure">{usd(shown)}</span>;

/** The cells of a row that has no GPUs and no storage. */
const NoSplit = () => (
  <>
    <td class="no-card widest-only" />
    <td class="no-card" />
    <td class="no-card" />
  </>
);

/** The sum of the rows that aren't shown. */
function Hidden({ rows, onOpen }: { rows: readonly Row[]; onOpen: (() => void) | null }) {
  const { exact, shown } = totalOf(rows);
  return (
    <tr>
      <th scope="row">
        <span class="statement-item">
          <span>{texts.more(rows.length)}</span>
        </span>
      </th>
      <td class="card-start">
        {onOpen !== null && (
          <button type="button" class="plain small" onClick={onOpen}>
            {texts.all}
          </button>
        )}
      </td>
      <NoSplit />
      <td class="number">
        <Amount of={exact} shown={shown} isSigned />
      </td>
    </tr>
  );
}

/** A movement's reason. If there isn't enough room, it is cut first and appears on hover. */
const Note = ({ text }: { text: string }) => (
  <span class="quiet" title={text}>
    {text}
  </span>
);

type Named = Parameters<typeof titleOf>[0];
type Names = ReadonlyMap<string, Named>;

/** Links to an instance under its name, or else what it runs with its id, as in the list of instances. */
function Subject({ id, names }: { id: string; names: Names }) {
  const known = names.get(id);
  const name = known === undefined ? instanceName(id) : visible(titleOf(known));
  return (
    <a class={`id${name === id ? ' mono' : ''}`} title={id} href={`/instances/${id}`}>
      {name}
      {known !== undefined && !isNamed(known) && <span class="mono quiet"> {id}</span>}
    </a>
  );
}

/** Shows a volume's name or, if it no longer exists, its id. */
const VolumeName = ({ id, name }: { id: string; name: string | undefined }) => (
  <span class={name === undefined ? 'mono' : ''} title={id}>
    {name === undefined ? id : visible(name)}
  </span>
);

/** Shows a UTC time, because statements cover UTC months. The exact time appears on hover. */
const Moment = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(secondsOf(at))}>
    {utcMoment(secondsOf(at))}
  </time>
);

const Between = ({ from, to }: { from: string; to: string }) => (
  <span title={`${exactTime(secondsOf(from))} – ${exactTime(secondsOf(to))}`}>
    {utcSpan(secondsOf(from), secondsOf(to))}
  </span>
);

function Total({ name, at, amount }: { name: string; at: string; amount: number }) {
  return (
    <tr class="total">
      <th scope="row">{name}</th>
      <td class="nowrap card-start">
        <Moment at={at} />
      </td>
      <NoSplit />
      <td class="number">
        <Amount of={micro(amount)} />
      </td>
    </tr>
  );
}

const monthFormat = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const monthName = (month: string): string => monthFormat.format(new Date(`${month}-01T00:00:00Z`));

function monthsBefore(month: string, count: number): string {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number - 1 - count, 1)).toISOString().slice(0, 7);
}
