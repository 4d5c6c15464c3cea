import { useEffect } from 'preact/hooks';
import { rates, usd } from '../figures/money.js';
import { Actions } from '../parts/actions.js';
import { InstanceName } from '../parts/instance-name.js';
import { Empty } from '../parts/notice.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { costNow, rateOf, settled } from '../state/account.js';
import { query } from '../state/location.js';
import { readSheet, regionName, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { History } from './history.js';

/** What is rented now, and all that ever was. */
export function Instances() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  const isHistory = query.value.get('show') === 'history';
  useTitle(isHistory ? 'History of instances' : 'Instances');
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Instances</h1>
        <a class="button primary" href="/machines">
          Rent a machine
        </a>
      </div>
      <nav class="tabs" aria-label="Which instances">
        <a href="/instances" aria-current={isHistory ? undefined : 'page'}>
          Active{settled.value === null ? '' : ` (${settled.value.instances.length})`}
        </a>
        <a href="/instances?show=history" aria-current={isHistory ? 'page' : undefined}>
          History
        </a>
      </nav>
      {isHistory ? <History /> : <Active />}
    </div>
  );
}

function Active() {
  const known = settled.value;
  if (known === null) return <p class="quiet">Reading your instances …</p>;
  if (known.instances.length === 0)
    return (
      <section class="panel">
        <Empty title="Nothing is rented">
          <p>A machine runs within seconds, and is paid for by the second.</p>
          <a class="button" href="/machines">
            See the machines
          </a>
        </Empty>
      </section>
    );
  const costs = rates(known.instances.map(rateOf));
  return (
    <section class="panel" aria-label="Active instances">
      <Table
        isCards
        columns={[
          ['Instance'],
          ['State'],
          ['Where'],
          ['USD/h now', 'number'],
          ['Cost so far, USD', 'number'],
          ['Actions', 'unseen'],
        ]}
      >
        {known.instances.map((instance, index) => (
          <tr key={instance.id}>
            <InstanceName instance={instance} />
            <td class="wide">
              <Status instance={instance} /> <span class="small quiet">{stopReason(instance)}</span>
              <Runtime runtime={instance.runtime} />
            </td>
            <td data-label="Where">{regionName(instance.region)}</td>
            <td class="number" data-label="USD/h now">
              {costs[index]}
            </td>
            <td class="number" data-label="Cost so far, USD">
              {usd(costNow(instance), 4)}
            </td>
            <td class="wide">
              <Actions instance={instance} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
