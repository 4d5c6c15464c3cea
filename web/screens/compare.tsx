import type { ComponentChildren } from 'preact';
import { micro, rate } from '../figures/money.js';
import { fixed, number } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { OneOffer } from '../graph/documents.js';
import { deployPath, MACHINE } from '../state/deploy-link.js';
import { setQuery } from '../state/location.js';
import { marketChanges, modelName, models, regionName } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { bandwidthOf, compared, MAX_COMPARED, type Offer } from '../state/offers.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/machines.js';

const FACTS: readonly (readonly [name: string, of: (offer: Offer) => ComponentChildren])[] = [
  ...MODES.map(
    ({ name, price, decimals }) =>
      [texts.modePrice(name), ({ pricePerHour }: Offer) => rate(micro(pricePerHour[price]), decimals)] as const,
  ),
  [texts.perGpuHour, ({ pricePerHour, numGpus }) => rate(micro(pricePerHour.onDemand / numGpus))],
  [texts.vram, ({ gpu, numGpus }) => `${(models.value.get(gpu)?.vramGb ?? 0) * numGpus} GB`],
  [
    texts.bandwidth,
    (offer) => {
      const speed = bandwidthOf(offer);
      return speed === undefined ? '–' : `${number(speed)} GB/s`;
    },
  ],
  [
    texts.bandwidthPerUsd,
    (offer) => {
      const speed = bandwidthOf(offer);
      return speed === undefined ? '–' : number(speed / offer.pricePerHour.onDemand);
    },
  ],
  [texts.nvlink, ({ nvlink }) => (nvlink ? texts.yes : texts.no)],
  [texts.fuse, ({ fuse }) => (fuse ? texts.yes : texts.no)],
  [texts.reliability, ({ reliability }) => `${fixed(reliability * 100, 2)} %`],
  [texts.region, ({ region }) => regionName(region)],
  [texts.cpu, ({ cpu, vcpus }) => texts.cpuOf(visible(cpu), vcpus)],
  [texts.memory, ({ ramGb }) => `${ramGb} GB`],
  [texts.disk, ({ diskGb }) => `${number(diskGb)} GB`],
  [texts.network, ({ netMbps: { down, up } }) => `${number(down)} / ${number(up)} Mbit/s`],
  [texts.cuda, ({ cudaMax }) => cudaMax || '–'],
  [texts.pcie, ({ pcie }) => pcie],
];

/** Shows the selected machines side by side. The selection is kept in the URL. */
export function Compare() {
  const ids = compared.value;
  const columns = ids.map((_, place) => place);
  // The number of hooks is constant, regardless of the selection.
  const reads = [useOffer(ids[0]), useOffer(ids[1]), useOffer(ids[2]), useOffer(ids[3])];
  if (ids.length === 0) return null;
  return (
    <section class="panel compare" aria-labelledby="compare">
      <div class="panel-head">
        <h2 id="compare">{ids.length === 1 ? texts.compareOne : texts.compareTitle}</h2>
        <div class="row">
          {ids.length < MAX_COMPARED && <p class="small quiet">{texts.compareMore(MAX_COMPARED)}</p>}
          <button type="button" class="plain" onClick={() => setQuery({ compare: null }, { replace: true })}>
            {texts.closeCompare}
          </button>
        </div>
      </div>
      {ids.length > 1 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        <section class="scroll" tabIndex={0} aria-label={texts.comparison}>
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

/** Reads a machine's offer. It is null if the machine is taken, and undefined while unknown. */
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
        {offer === null && <span class="quiet">{texts.taken}</span>}
        {offer != null && (
          <a class="button primary small-button" href={deployPath({ [MACHINE]: id })}>
            {texts.rent(visible(id))}
          </a>
        )}
        <button
          type="button"
          class="small-button"
          onClick={() =>
            setQuery({ compare: compared.value.filter((other) => other !== id).join(',') }, { replace: true })
          }
        >
          {texts.removeCompared(visible(id))}
        </button>
      </span>
    </div>
  );
}
