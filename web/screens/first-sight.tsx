import { useComputed, useSignal } from '@preact/signals';
import { loneRate, micro, rate } from '../figures/money.js';
import { number } from '../figures/number.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Failure } from '../parts/notice.js';
import { changeOf, Sparkline } from '../parts/sparkline.js';
import { Table } from '../parts/table.js';
import { type Model, marketAge, models, modelsOf, regionName, sheet, sheetError, useMarket } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { useTitle } from '../state/title.js';
import { type Trends, useTrends } from '../state/trends.js';
import { texts } from '../texts/en/first-sight.js';
import { texts as product } from '../texts/en/product.js';
import { FreeFigures, useFreeNow } from './free-now.js';
import { WorldMap } from './map.js';

/** The modes shown under the price on demand. */
const CHEAPER_MODES = MODES.slice(1);
/** The classes that most visitors look for. In each, the model with the most free GPUs is shown large. */
const CLASSES = ['FLAGSHIP', 'DATACENTER', 'CONSUMER_FLAGSHIP'] as const;
/** Maximum number of regions listed under the map. */
const MAX_REGIONS = 3;
/** Number of models shown before the user requests all of them. */
const MODELS_FIRST = 12;

/** Shows visitors what this service is, what it costs and what is currently free. */
export function FirstSight() {
  useTitle(texts.title);
  useMarket();
  const free = useFreeNow();
  const trends = useTrends();
  return (
    <div class="first-sight">
      <div class="hero-words">
        <h1 tabIndex={-1}>{texts.heading}</h1>
        <p>{texts.what}</p>
        <div class="row">
          <a class="button primary large" href="/deploy">
            {texts.deployGpu}
            <Icon name="arrow-right" />
          </a>
          <a class="button large" href="#prices">
            {texts.allPrices}
          </a>
        </div>
        <FreeFigures of={free} />
      </div>
      {sheetError.value !== null && sheet.value === null && <Failure error={sheetError.value} />}
      <Leading trends={trends} />
      <section class="where" aria-label={texts.where}>
        <WorldMap free={free.regions} />
        <TopRegions free={free.regions} />
      </section>
      <Product />
      <Sheet trends={trends} />
    </div>
  );
}

/** Shows the leading prices, one per class. */
function Leading({ trends }: { trends: Trends }) {
  const leading = useComputed(() => CLASSES.flatMap((tier) => modelsOf(tier).slice(0, 1))).value;
  return (
    <ul class="leading" aria-label={texts.prices}>
      {/* Reserves the cards' height before the sheet is known. */}
      {sheet.value === null && CLASSES.map((tier) => <li key={tier} class="panel" aria-hidden="true" />)}
      {leading.map((model) => {
        const { slug, name, vramGb, availableGpus, pricePerGpuHour, marketMedian } = model;
        return (
          <li key={slug} class="panel">
            <div class="row between">
              <h2>
                <ModelName name={name} />
              </h2>
              <span class="badge">{vramGb} GB</span>
            </div>
            <p class="leading-price">
              <span class="figure">{loneRate(micro(pricePerGpuHour.onDemand))}</span>{' '}
              <span class="quiet">{texts.perGpuHour}</span>
            </p>
            <dl class="leading-modes small">
              {marketMedian !== null && (
                <div>
                  <dt>{texts.market}</dt>
                  <dd>
                    <s>{rate(micro(marketMedian))}</s>
                  </dd>
                </div>
              )}
              {CHEAPER_MODES.map(({ price, name: mode }) => (
                <div key={price}>
                  <dt>{mode}</dt>
                  <dd>{rate(micro(pricePerGpuHour[price]))}</dd>
                </div>
              ))}
            </dl>
            <div class="row between">
              <span class="small">
                <span class="dot good" aria-hidden="true" />
                {texts.free(number(availableGpus))}
              </span>
              <Trend of={trends.get(slug) ?? []} />
              <a class="button" href={`/deploy?gpu=${slug}`} aria-label={texts.deployModel(name)}>
                {texts.deploy}
              </a>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** Gives three reasons to choose this service, next to a picture of it. */
function Product() {
  return (
    <section class="product" aria-label={texts.console}>
      <ul class="reasons">
        {texts.reasons.map(([icon, title, text]) => (
          <li key={title}>
            <Icon name={icon} />
            <h2>{title}</h2>
            <p class="quiet">{text}</p>
          </li>
        ))}
      </ul>
      <picture class="product-picture">
        <source media="(prefers-color-scheme: dark)" srcset={product.dark} />
        <img src={product.light} alt={product.alt} width={1136} height={768} loading="lazy" decoding="async" />
      </picture>
    </section>
  );
}

function Trend({ of: values }: { of: readonly number[] }) {
  const change = changeOf(values);
  return change === null ? null : (
    <span class="trend small">
      <Sparkline values={values} />
      <span class="quiet">
        {texts.trend(change, values.length, (text) => (
          <span class="hidden">{text}</span>
        ))}
      </span>
    </span>
  );
}

function TopRegions({ free }: { free: ReadonlyMap<string, number> }) {
  const most = [...free].sort(([, one], [, other]) => other - one).slice(0, MAX_REGIONS);
  return (
    <ul class="where-list">
      {most.map(([code, gpus]) => (
        <li key={code}>
          <a href={`/machines?region=${encodeURIComponent(code)}`}>
            {regionName(code)} <span class="figure">{texts.gpus(gpus)}</span>
          </a>
        </li>
      ))}
      {free.size > MAX_REGIONS && <li class="quiet">{texts.moreRegions(free.size - MAX_REGIONS)}</li>}
    </ul>
  );
}

const onDemand = ({ pricePerGpuHour }: Model): number => pricePerGpuHour.onDemand;

/** Lists every model with its prices and their history, the most expensive first, and links each to its machines. */
function Sheet({ trends }: { trends: Trends }) {
  const isWhole = useSignal(false);
  const all = [...models.value.values()].sort((one, other) => onDemand(other) - onDemand(one));
  const shown = isWhole.value ? all : all.slice(0, MODELS_FIRST);
  const hasTrends = [...trends.values()].some((values) => values.length > 1);
  return (
    <section class="panel" id="prices" aria-labelledby="prices-name">
      <div class="panel-head">
        <h2 id="prices-name">{texts.priceSheet}</h2>
        <p class="small quiet">
          {texts.perGpuHour}
          {marketAge.value !== null && ` · ${marketAge.value}`}
        </p>
      </div>
      <Table
        class="price-sheet market-sheet"
        caption={texts.caption}
        columns={[
          [texts.gpu],
          [texts.vram, 'number', 'wide-only'],
          [texts.freeGpus, 'number', 'wide-only'],
          ...(hasTrends ? [[texts.trendColumn, undefined, 'widest-only'] as const] : []),
          [texts.market, 'number', 'wide-only', texts.marketHint],
          ...MODES.map(({ name }, index) => [name, 'number', index === 0 ? '' : 'wide-only'] as const),
          [texts.deploy, 'unseen', 'wide-only'],
        ]}
      >
        {shown.map(({ slug, name, vramGb, availableGpus, pricePerGpuHour, marketMedian }) => (
          <tr key={slug} class={availableGpus === 0 ? 'none' : ''}>
            <th scope="row">
              <a class="row-link" href={`/machines?gpu=${slug}`}>
                <ModelName name={name} />
              </a>
              <span class="sheet-more-of small quiet">{texts.memoryAndFree(vramGb, number(availableGpus))}</span>
            </th>
            <td class="number wide-only">{vramGb}</td>
            <td class="number wide-only">{number(availableGpus)}</td>
            {hasTrends && (
              <td class="widest-only">
                <Trend of={trends.get(slug) ?? []} />
              </td>
            )}
            <td class="number wide-only quiet">{marketMedian === null ? '–' : rate(micro(marketMedian))}</td>
            {MODES.map(({ price }, index) => (
              <td key={price} class={index === 0 ? 'number' : 'number wide-only'}>
                {rate(micro(pricePerGpuHour[price]))}
                {index === 0 && marketMedian !== null && (
                  <span class="sheet-more-of small quiet">{texts.marketAt(rate(micro(marketMedian)))}</span>
                )}
              </td>
            ))}
            <td class="number wide-only">
              {availableGpus > 0 && (
                <a class="button ghost" href={`/deploy?gpu=${slug}`} aria-label={texts.deployModel(name)}>
                  {texts.deploy}
                </a>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {sheet.value === null && <p class="empty">{texts.reading}</p>}
      {!isWhole.value && all.length > MODELS_FIRST && (
        <p class="sheet-more">
          <button
            type="button"
            class="ghost"
            onClick={() => {
              isWhole.value = true;
            }}
          >
            {texts.showAll(all.length)}
            <Icon name="chevron-down" />
          </button>
        </p>
      )}
    </section>
  );
}
