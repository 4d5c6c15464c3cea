import type { ComponentChildren } from 'preact';
import { micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Period, Time } from '../parts/time.js';
import { serverDay } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/statement.js';
import type { Props as DownloadsProps, Stated } from './downloads.js';

const Downloads = loaded<DownloadsProps>(async () => (await import('./downloads.js')).Downloads);

const MONTHS = 12;
/** Maximum number of rows shown. The download contains all of them. */
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

/** Shows the changes to the balance within a UTC month line by line. */
export function Statement({ stated }: { stated: Stated | null }) {
  const work = useWork();
  return (
    <section class="panel" aria-labelledby="statement">
      <div class="panel-head">
        <div>
          <h2 id="statement">{texts.title}</h2>
          <p class="small quiet">
            <a href="/verify">{texts.verify}</a>
          </p>
        </div>
        <div class="row">
          <label class="row small">
            <span class="quiet">{texts.month}</span>
            <select value={chosenMonth()} onChange={({ currentTarget }) => setQuery({ month: currentTarget.value })}>
              {months().map((value) => (
                <option value={value}>{value}</option>
              ))}
            </select>
          </label>
          {stated !== null && <Downloads stated={stated} work={work} />}
        </div>
      </div>
      {work.error.value !== null && (
        <div class="padded">
          <Failure error={work.error.value} />
        </div>
      )}
      {stated !== null && <Lines stated={stated} />}
    </section>
  );
}

function Lines({ stated }: { stated: Stated }) {
  const { openingBalance, closingBalance, lines, movements, to } = stated;
  if (lines.length === 0 && movements.length === 0)
    return (
      <Empty icon="file-text" title={texts.none}>
        <p>{texts.noneWhat}</p>
      </Empty>
    );
  return (
    <>
      <Table isCards columns={[[texts.what], [texts.when], [texts.usd, 'number']]}>
        <Total name={texts.opening} amount={openingBalance} />
        {movements.slice(0, SHOWN).map(({ at, kind, amount, note, reference, instanceId }) => (
          <tr>
            <th scope="row" class="wide">
              {texts.movements[kind]}{' '}
              {note !== null && (
                // The service writes English, but an operator may write in any language.
                <span class="quiet small" lang={kind === 'SERVICE_CREDIT' ? 'en' : undefined}>
                  {visible(note)}
                </span>
              )}{' '}
              {instanceId !== null && <span class="mono small">{instanceId}</span>}
              {reference !== null && <span class="mono small quiet">{visible(reference)}</span>}
            </th>
            <td class="wide">
              <Time at={secondsOf(at)} />
            </td>
            <td class="number wide">{usd(micro(amount), 6)}</td>
          </tr>
        ))}
        {lines.slice(0, SHOWN).map(({ instanceId, volumeId, kind, ratePerHour, seconds, from, to, amount }) => (
          <tr>
            <th scope="row" class="wide">
              {instanceId === null ? (
                <span class="mono">{volumeId}</span>
              ) : (
                <a class="mono" href={`/instances/${instanceId}`}>
                  {instanceId}
                </a>
              )}{' '}
              {texts.kinds[kind]}
            </th>
            <td class="wide">
              <Period from={secondsOf(from)} to={secondsOf(to)} />
              <br />
              <span class="quiet small">{texts.atRate(duration(seconds), rate(micro(ratePerHour)))}</span>
            </td>
            <td class="number wide">{usd(-micro(amount), 6)}</td>
          </tr>
        ))}
        <Total name={texts.closing(<Time at={secondsOf(to)} />)} amount={closingBalance} />
      </Table>
      {Math.max(lines.length, movements.length) > SHOWN && <p class="padded small quiet">{texts.shown(SHOWN)}</p>}
    </>
  );
}

function Total({ name, amount }: { name: ComponentChildren; amount: number }) {
  return (
    <tr>
      <th scope="row" class="wide">
        {name}
      </th>
      <td class="no-card" />
      <td class="number wide">
        <strong>{usd(micro(amount), 6)}</strong>
      </td>
    </tr>
  );
}

function monthsBefore(month: string, count: number): string {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number - 1 - count, 1)).toISOString().slice(0, 7);
}
