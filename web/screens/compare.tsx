import type { ComponentChildren } from 'preact';
import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { OneOffer } from '../graph/documents.js';
import { setQuery } from '../state/location.js';
import { marketChanges, modelName, models, regionName } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { compared, MOST_COMPARED, type Offer } from '../state/offers.js';
import { useRead } from '../state/read.js';

const FACTS: readonly (readonly [name: string, of: (offer: Offer) => ComponentChildren])[] = [
  ...MODES.map(
    ({ name, price, decimals }) =>
      [`${name}, USD/h`, ({ pricePerHour }: Offer) => rate(micro(pricePerHour[price]), decimals)] as const,
  ),
  ['USD per GPU-hour', ({ pricePerHour, numGpus }) => rate(micro(pricePerHour.onDemand / numGpus))],
  ['VRAM', ({ gpu, numGpus }) => `${(models.value.get(gpu)?.vramGb ?? 0) * numGpus} GB`],
  ['NVLink', ({ nvlink }) => (nvlink ? 'yes' : 'no')],
  ['Reliability', ({ reliability }) => `${(reliability * 100).toFixed(2)} %`],
  ['Region', ({ region }) => regionName(region)],
  ['CPU', ({ cpu, vcpus }) => `${visible(cpu)}, ${vcpus} vCPUs`],
  ['Memory', ({ ramGb }) => `${ramGb} GB`],
  ['Free disk', ({ diskGb }) => `${diskGb.toLocaleString('en')} GB`],
  [
    'Network in / out',
    ({ netMbps: { down, up } }) => `${down.toLocaleString('en')} / ${up.toLocaleString('en')} Mbit/s`,
  ],
  ['CUDA up to', ({ cudaMax }) => cudaMax || '–'],
  ['PCIe', ({ pcie }) => pcie],
];

/** The machines that were ticked, beside each other; the address holds which. */
export function Compare() {
  const ids = compared.value;
  const columns = ids.map((_, place) => place);
  // As many hooks however many are ticked.
  const reads = [useOffer(ids[0]), useOffer(ids[1]), useOffer(ids[2]), useOffer(ids[3])];
  if (ids.length === 0) return null;
  return (
    <section class="panel compare" aria-labelledby="compare">
      <div class="panel-head">
        <h2 id="compare">{ids.length === 1 ? 'Compare: 1 chosen' : 'Compare'}</h2>
        <div class="row">
          {ids.length < MOST_COMPARED && <p class="small quiet">Tick others in the list, up to {MOST_COMPARED}.</p>}
          <button type="button" class="plain" onClick={() => setQuery({ compare: null }, { replace: true })}>
            Close the comparison
          </button>
        </div>
      </div>
      {ids.length > 1 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        <section class="scroll" tabIndex={0} aria-label="What they have">
          <table>
            <thead>
              <tr>
                <td />
                {columns.map((place) => (
                  <th key={ids[place]} scope="col">
                    <Title id={ids[place]!} read={reads[place]!} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {FACTS.map(([name, of]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {columns.map((place) => {
                    const { offer } = reads[place]!;
                    return <td key={ids[place]}>{offer == null ? '–' : of(offer)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

/** Its offer; null where it is taken, undefined while nobody knows. */
function useOffer(machineId: string | undefined): { offer: Offer | null | undefined } {
  const read = useRead(OneOffer, machineId === undefined ? null : { machineId }, marketChanges);
  return { offer: read.data.value?.offer };
}

function Title({ id, read: { offer } }: { id: string; read: ReturnType<typeof useOffer> }) {
  return (
    <div class="stack-tight">
      <span class="compared">
        {offer == null ? <span class="mono">{visible(id)}</span> : `${offer.numGpus} × ${modelName(offer.gpu)}`}
      </span>
      <span class="row">
        {offer === null && <span class="quiet">taken</span>}
        {offer != null && (
          <button type="button" class="primary small-button" onClick={() => setQuery({ deploy: id })}>
            Rent <span class="hidden">{visible(id)}</span>
          </button>
        )}
        <button
          type="button"
          class="small-button"
          onClick={() =>
            setQuery({ compare: compared.value.filter((other) => other !== id).join(',') }, { replace: true })
          }
        >
          Remove <span class="hidden">{visible(id)}</span>
        </button>
      </span>
    </div>
  );
}
