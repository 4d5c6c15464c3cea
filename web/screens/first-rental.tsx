import { micro } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Templates } from '../graph/documents.js';
import { Amount } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { modelsOf } from '../state/market.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/first-rental.js';
import { texts as catalogue } from '../texts/en/launch.js';
import { screens } from '../texts/en/screens.js';
import { Picture } from './pictures.js';

/** The classes of the models offered to an account without instances, in the order shown. */
const CLASSES = ['CONSUMER_FLAGSHIP', 'DATACENTER', 'FLAGSHIP'] as const;
/** Number of templates offered. The catalogue begins with the most useful ones. */
const TEMPLATES_FIRST = 5;

interface Props {
  /** Whether the account can rent. Otherwise, the form can only be filled in. */
  hasCredit: boolean;
}

/** Offers one model of each class, whose cheapest machine is rented on the Deploy page. */
export function FirstGpus({ hasCredit }: Props) {
  const shown = CLASSES.flatMap((tier) =>
    modelsOf(tier)
      .slice(0, 1)
      .map((model) => ({ ...model, tier })),
  ).filter(({ availableGpus }) => availableGpus > 0);
  return (
    <>
      <div class="panel-head">
        <h2 id="rented">{texts.gpus}</h2>
        <a href="/machines">{texts.allMachines}</a>
      </div>
      <ul class="offers-first">
        {shown.map(({ slug, name, tier, vramGb, availableGpus, pricePerGpuHour }) => (
          <li key={slug}>
            <a href={`/deploy?gpu=${slug}`}>
              <strong>
                <ModelName name={name} />
              </strong>
              <span class="offer-free small quiet">{texts.model(vramGb, availableGpus)}</span>
              <span class="offer-use small quiet">{texts.uses[tier]}</span>
              <span class="headline">
                <Amount of={micro(pricePerGpuHour.onDemand)} unit="USD/h" />
              </span>
              <span class="offer-go">
                {hasCredit ? screens['/deploy'] : texts.configure}
                <Icon name="arrow-right" />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Offers the first templates of the catalogue, each with enough GPU memory for it, and the search for a model's GPU. */
export function FirstTemplates() {
  const templates = useRead(Templates, {}).data.value?.templates ?? [];
  return (
    <section class="panel" aria-labelledby="first-templates">
      <div class="panel-head">
        <h2 id="first-templates">{texts.templates}</h2>
      </div>
      <ul class="templates-first">
        {templates.slice(0, TEMPLATES_FIRST).map(({ slug, title, category, picture, vramGb }) => (
          <li key={slug}>
            <Starter
              href={`/deploy?template=${encodeURIComponent(slug)}${vramGb === null ? '' : `&vram=${vramGb}`}`}
              picture={picture}
              title={visible(catalogue.ofCatalogue(title))}
              about={visible(catalogue.category(category))}
            />
          </li>
        ))}
        {templates.length > 0 && (
          <li>
            <Starter href="/models" picture="spark" title={screens['/models']} about={texts.findsGpu} />
          </li>
        )}
      </ul>
    </section>
  );
}

interface StarterProps {
  href: string;
  picture: string;
  title: string;
  about: string;
}

const Starter = ({ href, picture, title, about }: StarterProps) => (
  <a href={href}>
    <Picture name={picture} />
    <strong>{title}</strong>
    <span class="small quiet">{about}</span>
    <Icon name="chevron-right" />
  </a>
);
