import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { micro } from '../figures/money.js';
import { serviceCreditText } from '../figures/service-credit.js';
import { duration, exactTime, secondsOf, utcMoment } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount, Rate } from '../parts/amount.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { instanceName } from '../state/account.js';
import { serverDay } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { useWork } from '../state/work.js';
import { locale } from '../texts/en/locale.js';
import { texts } from '../texts/en/statement.js';
import type { Props as DownloadsProps, Stated } from './downloads.js';

const Downloads = loaded<DownloadsProps>(async () => (await import('./downloads.js')).Downloads);

const MONTHS = 12;
/** Number of changes shown before the user requests more, in a wide window and on a phone. */
const [FIRST, FIRST_NARROW] = [12, 5];
/** Maximum number of changes of each kind shown. The download contains all of them. */
const SHOWN = 200;

/** Returns the months to choose from, newest first. */
const months = (): string[] =>
  Array.from({ length: MONTHS }, (_, back) => monthsBefore(serverDay.value.slice(0, 7), back));

/** Returns the UTC month selected in the URL, or the current one. */
export function chosenMonth(): string {
  const all = months();
  return all.find((month) => month === query.value.get('month')) ?? all[0]!;
}

export const periodOf = (month: string) => ({
  from: `${month}-01T00:00:00Z`,
  to: `${monthsBefore(month, -1)}-01T00:00:00Z`,
});

interface Props {
  stated: Stated | null;
  /** Shown below the lines. */
  children: ComponentChildren;
}

/** Shows the changes to the balance within a UTC month line by line. */
export function Statement({ stated, children }: Props) {
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
      {stated !== null && <Lines key={stated.from} stated={stated} />}
      {children}
    </section>
  );
}

function Lines({ stated }: { stated: Stated }) {
  const { openingBalance, closingBalance, lines, movements, from, to } = stated;
  const first = matchMedia('(max-width: 44rem)').matches ? FIRST_NARROW : FIRST;
  const isOpen = useSignal(false);
  const most = isOpen.value ? SHOWN : first;
  if (lines.length === 0 && movements.length === 0)
    return (
      <Empty icon="file-text" title={texts.none}>
        {texts.noneWhat}
      </Empty>
    );
  const shownMovements = movements.slice(0, most);
  const shownLines = lines.slice(0, isOpen.value ? SHOWN : Math.max(0, most - shownMovements.length));
  const hidden = [
    ...movements.slice(shownMovements.length).map(({ amount }) => micro(amount)),
    ...lines.slice(shownLines.length).map(({ amount }) => -micro(amount)),
  ];
  return (
    <>
      <Table
        isCards
        class="listing statement"
        columns={[[texts.what], [texts.when], [texts.span, 'number'], [texts.rate, 'number'], [texts.usd, 'number']]}
      >
        <Total name={texts.opening} at={from} amount={openingBalance} />
        {shownMovements.map(({ at, kind, amount, note, reference, instanceId }) => (
          <tr>
            <th scope="row">
              <span class="statement-item">
                <span>{texts.movements[kind]}</span>
                {instanceId !== null && <Subject id={instanceId} />}
                {note !== null && <Note text={visible(kind === 'SERVICE_CREDIT' ? serviceCreditText(note) : note)} />}
                {reference !== null && <span class="mono quiet">{visible(reference)}</span>}
              </span>
            </th>
            <td class="nowrap card-start">
              <Moment at={at} />
            </td>
            <td class="no-card" />
            <td class="no-card" />
            <td class="number">
              <Amount of={micro(amount)} />
            </td>
          </tr>
        ))}
        {shownLines.map(({ instanceId, volumeId, kind, ratePerHour, seconds, from, to, amount }) => (
          <tr>
            <th scope="row">
              <span class="statement-item">
                {instanceId === null ? <span class="mono">{volumeId}</span> : <Subject id={instanceId} />}
                <span>{texts.kinds[kind]}</span>
              </span>
            </th>
            <td class="nowrap card-start">{from === to ? <Moment at={from} /> : <Between from={from} to={to} />}</td>
            <td class="number no-card">{seconds > 0 && duration(seconds)}</td>
            <td class="number no-card">{seconds > 0 && <Rate of={micro(ratePerHour)} />}</td>
            <td class="number">
              <Amount of={-micro(amount)} />
            </td>
          </tr>
        ))}
        {hidden.length > 0 && (
          <tr>
            <th scope="row">
              <span class="statement-item">
                <span>{texts.more(hidden.length)}</span>
              </span>
            </th>
            <td class="card-start">
              {!isOpen.value && (
                <button
                  type="button"
                  class="plain small"
                  onClick={() => {
                    isOpen.value = true;
                  }}
                >
                  {texts.all}
                </button>
              )}
            </td>
            <td class="no-card" />
            <td class="no-card" />
            <td class="number">
              <Amount of={hidden.reduce((total, amount) => total + amount, 0n)} />
            </td>
          </tr>
        )}
        <Total name={texts.closing} at={to} amount={closingBalance} />
      </Table>
      <div class="list-end row between small">
        <a href="/verify">{texts.verify}</a>
        {isOpen.value && Math.max(lines.length, movements.length) > SHOWN && (
          <span class="quiet">{texts.shown(SHOWN)}</span>
        )}
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

/** A movement's reason. If there isn't enough room, it is cut first and appears on hover. */
const Note = ({ text }: { text: string }) => (
  <span class="quiet" title={text}>
    {text}
  </span>
);

/** Links to an instance under its name or, if it no longer exists, its id. */
function Subject({ id }: { id: string }) {
  const name = instanceName(id);
  return (
    <a class={`id${name === id ? ' mono' : ''}`} title={id} href={`/instances/${id}`}>
      {name}
    </a>
  );
}

/** Shows a UTC time, because statements cover UTC months. The exact time appears on hover. */
const Moment = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(secondsOf(at))}>
    {utcMoment(secondsOf(at))}
  </time>
);

const Between = ({ from, to }: { from: string; to: string }) => (
  <>
    <Moment at={from} /> – <Moment at={to} />
  </>
);

function Total({ name, at, amount }: { name: string; at: string; amount: number }) {
  return (
    <tr class="total">
      <th scope="row">{name}</th>
      <td class="nowrap card-start">
        <Moment at={at} />
      </td>
      <td class="no-card" />
      <td class="no-card" />
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
