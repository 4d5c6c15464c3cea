import { loneRate, micro } from '../figures/money.js';
import { PriceHistory } from '../graph/documents.js';
import { HistoryChart } from '../parts/charts.js';
import { Fold } from '../parts/fold.js';
import { Failure } from '../parts/notice.js';
import { marketSnapshot, modelName, models } from '../state/market.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/machines.js';

/** Shows a model's market median and, if opened, its price history with the number of listings in each snapshot. */
export function ModelPanel({ slug }: { slug: string }) {
  const { data, error } = useRead(PriceHistory, { slug }, marketSnapshot);
  const history = data.value?.gpuModel?.slug === slug ? data.value.gpuModel.priceHistory : null;
  const model = models.value.get(slug);
  const name = modelName(slug);
  const median = model === undefined ? undefined : medianOf(model);
  return (
    <section class="model-panel" aria-label={name}>
      <Fold title={texts.history} summary={median}>
        <div class="stack-tight">
          <Failure error={error.value} />
          {history !== null && history.length > 0 && <HistoryChart history={history} name={name} />}
          <p class="small quiet median">{median}</p>
          <p class="small quiet">{texts.medianMeans}</p>
        </div>
      </Fold>
    </section>
  );
}

const medianOf = ({ marketMedian, listings }: { marketMedian: number | null; listings: number }) =>
  marketMedian === null ? texts.fewListings(listings) : texts.median(loneRate(micro(marketMedian)), listings);
