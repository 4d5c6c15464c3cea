import { micro, rate } from '../figures/money.js';
import { exactPercent, number } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { OneOffer } from '../graph/documents.js';
import { Dialog } from '../parts/dialog.js';
import { Facts } from '../parts/facts.js';
import { Icon } from '../parts/icon.js';
import { ModelName, shortName } from '../parts/model-name.js';
import { deployPath, MACHINE } from '../state/deploy-link.js';
import { marketChanges, modelName, regionName } from '../state/market.js';
import { MODES, modeParameter } from '../state/modes.js';
import { bandwidthOf, compared, MAX_COMPARED, type Offer, toggleCompared, vramOf } from '../state/offers.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/machines.js';

/** An offer, or null if its machine is taken, or undefined while unknown. */
type Known = Offer | null | undefined;

const FACTS: readonly (readonly [name: string, of: (offer: Offer) => string])[] = [
  ...MODES.map(
    ({ name, price }) =>
      [texts.modePrice(name), ({ pricePerHour }: Offer) => rate(micro(pricePerHour[price]))] as const,
  ),
  [texts.perGpuHour, ({ pricePerHour, numGpus }) => rate(micro(pricePerHour.onDemand / numGpus))],
  [texts.vram, (offer) => `${number(vramOf(offer) ?? 0)} GB`],
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
  [texts.region, ({ region }) => regionName(region)],
  [texts.reliability, ({ reliability }) => exactPercent(reliability * 100)],
  [texts.cpu, ({ cpu, vcpus }) => texts.cpuOf(visible(cpu), vcpus)],
  [texts.memory, ({ ramGb }) => `${number(ramGb)} GB`],
  [texts.disk, ({ diskGb }) => `${number(diskGb)} GB`],
  [texts.network, ({ netMbps: { down, up } }) => `${number(down)} / ${number(up)} Mbit/s`],
  [texts.runsContainers, ({ hasAgent }) => (hasAgent ? texts.yes : texts.no)],
  [texts.cuda, ({ cudaMax }) => cudaMax || '–'],
  [texts.pcie, ({ pcie }) => String(pcie)],
  [texts.fuse, ({ fuse }) => (fuse ? texts.yes : texts.no)],
];

/** Shows the selected machines side by side. Rows in which they differ are emphasised. */
export function Comparison({ onClose }: { onClose(): void }) {
  const ids = compared.value;
  // The number of hooks is constant, regardless of the selection.
  const all = [useOffer(ids[0]), useOffer(ids[1]), useOffer(ids[2]), useOffer(ids[3])];
  const columns = ids.map((id, place) => ({ id, offer: all[place] }));
  return (
    <Dialog title={texts.compareTitle(ids.length)} isWide onClose={onClose}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard */}
      <section class="scroll comparison" tabIndex={0} aria-label={texts.comparison}>
        <table>
          <thead>
            <tr>
              <td />
              {columns.map(({ id, offer }) => (
                <th key={id} scope="col">
                  <Title id={id} offer={offer} isLast={ids.length === 1} onClose={onClose} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {FACTS.map(([name, of]) => {
              const cells = columns.map(({ offer }) => (offer == null ? null : of(offer)));
              const known = new Set(cells.filter((cell) => cell !== null));
              return (
                <tr key={name} class={known.size > 1 ? 'differs' : ''}>
                  <th scope="row">{name}</th>
                  {columns.map(({ id }, place) => (
                    <td key={id}>{cells[place] ?? '–'}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </Dialog>
  );
}

/** Shows everything about one machine. */
export function MachineDetails({ id, onClose }: { id: string; onClose(): void }) {
  const offer = useOffer(id);
  const isCompared = compared.value.includes(id);
  return (
    <Dialog title={offer == null ? visible(id) : nameOf(offer)} onClose={onClose}>
      <div class="dialog-body stack">
        {offer === null && <p class="quiet">{texts.taken}</p>}
        {offer != null && (
          <Facts
            of={[
              [texts.machineId, <span class="id mono">{id}</span>],
              ...FACTS.map(([name, of]) => [name, of(offer)] as const),
            ]}
          />
        )}
      </div>
      <div class="dialog-end">
        <button
          type="button"
          disabled={!isCompared && compared.value.length >= MAX_COMPARED}
          onClick={() => toggleCompared(id)}
        >
          {isCompared ? texts.removeFromComparison : texts.addToComparison}
        </button>
        {offer != null && <DeployLink id={id} class="primary" />}
      </div>
    </Dialog>
  );
}

const nameOf = ({ numGpus, gpu }: Offer) => `${numGpus} × ${shortName(modelName(gpu))}`;

function useOffer(machineId: string | undefined): Known {
  return useRead(OneOffer, machineId === undefined ? null : { machineId }, marketChanges).data.value?.offer;
}

const DeployLink = ({ id, class: className }: { id: string; class: string }) => (
  <a class={`button ${className}`} href={deployPath({ [MACHINE]: id, ...modeParameter() })}>
    {texts.deploy(visible(id))}
  </a>
);

interface TitleProps {
  id: string;
  offer: Known;
  /** Whether it is the only one left, so that removing it ends the comparison. */
  isLast: boolean;
  onClose(): void;
}

function Title({ id, offer, isLast, onClose }: TitleProps) {
  const remove = () => {
    toggleCompared(id);
    if (isLast) onClose();
  };
  return (
    <div class="stack-tight">
      <span class="compared">
        <span>
          {offer == null ? (
            <span class="mono">{visible(id)}</span>
          ) : (
            <>
              {offer.numGpus} × <ModelName name={modelName(offer.gpu)} />
            </>
          )}
        </span>
        <button type="button" class="ghost menu-button" aria-label={texts.removeCompared(visible(id))} onClick={remove}>
          <Icon name="x" />
        </button>
      </span>
      {offer === null ? <span class="quiet">{texts.taken}</span> : <DeployLink id={id} class="small-button" />}
    </div>
  );
}
