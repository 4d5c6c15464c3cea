import { type Order, sameAs, WAYS } from '../figures/same-as.js';
import { Copy } from '../parts/copy.js';
import { query, setQuery } from '../state/location.js';
import { texts } from '../texts/en/deploy.js';

interface Props {
  /** The rental, or null while the form is invalid. If no machine matches, it contains none. */
  order: (Omit<Order, 'machineId'> & { machineId: string | null }) | null;
}

/** Shows commands that rent the same thing without this page, for copying. */
export function SameAs({ order }: Props) {
  const way = WAYS.find((one) => one === query.value.get('as')) ?? WAYS[0];
  if (order === null) return null;
  const text = sameAs(way, { ...order, machineId: order.machineId ?? 'MACHINE' }, `${location.origin}/v1`);
  const holdsValues = order.launch?.env != null;
  return (
    <>
      <div class="row between">
        <fieldset class="segments" aria-label={texts.ways}>
          {WAYS.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === way}
              onClick={() => setQuery({ as: one === WAYS[0] ? null : one }, { replace: true })}
            >
              {texts.way[one]}
            </button>
          ))}
        </fieldset>
        <Copy text={text} label={texts.copyWay[way]} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard */}
      <section class="code" tabIndex={0} aria-label={texts.way[way]}>
        <pre>{text}</pre>
      </section>
      <p class="small quiet">
        {order.machineId === null ? texts.noWay : texts.wayHint[way]} {holdsValues && texts.holdsValues}
      </p>
    </>
  );
}
