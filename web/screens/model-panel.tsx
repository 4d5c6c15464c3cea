import { micro, rate } from '../figures/money.js';
import { PriceHistory } from '../graph/documents.js';
import { HistoryChart } from '../parts/charts.js';
import { Failure } from '../parts/notice.js';
import { setQuery } from '../state/location.js';
import { type Model, marketSnapshot } from '../state/market.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/machines.js';

/** Shows a model's price history and the number of listings in each snapshot. */
export function ModelPanel({ model }: { model: Model }) {
  const { data, error } = useRead(PriceHistory, { slug: model.slug }, marketSnapshot);
  const history = data.value?.gpuModel?.slug === model.slug ? data.value.gpuModel.priceHistory : null;
  return (
    <section class="panel" aria-labelledby="model-name">
      <div class="panel-head">
        <h2 id="model-name">{model.name}</h2>
        <button type="button" class="plain" onClick={() => setQuery({ gpu: null })}>
          {texts.allModels}
        </button>
      </div>
      <div class="padded stack-tight">
        <Failure error={error.value} />
        {history !== null && history.length > 0 && <HistoryChart history={history} name={model.name} />}
        <p class="small quiet">
          {model.marketMedian === null
            ? texts.fewListings(model.listings)
            : texts.median(rate(micro(model.marketMedian)), model.listings)}
        </p>
      </div>
    </section>
  );
}
