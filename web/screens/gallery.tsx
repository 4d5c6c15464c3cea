import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { DeleteTemplate, MyTemplates, SaveTemplate, Templates } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';
import { formOf, launchOf } from '../state/launch-form.js';
import { useRead } from '../state/read.js';
import { savedChanges } from '../state/saved.js';
import { session } from '../state/session.js';
import type { Template } from '../state/template-form.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/launch.js';
import { screens } from '../texts/en/screens.js';
import { Picture } from './pictures.js';

type Saved = NonNullable<ResultOf<typeof MyTemplates>['myTemplates']>[number];

interface Props {
  /** A template's slug, or an image. */
  value: string;
  onType(text: string): void;
  onSaved(saved: Saved): void;
}

export function useTemplates(): readonly Template[] | null {
  return useRead(Templates, {}).data.value?.templates ?? null;
}

/** Number of cards shown before the user requests all of them. The catalogue begins with the most useful templates. */
const CARDS_FIRST = 6;

interface Card {
  key: string;
  title: string;
  picture: string;
  about: string;
  isChecked: boolean;
  choose(): void;
}

/**
 * Shows cards for the account's saved templates, a custom image and the catalogue's templates. One of them is selected.
 */
export function Gallery({ value, onType, onSaved }: Props) {
  const templates = useTemplates();
  const ownTemplates =
    useRead(MyTemplates, session.value === 'in' ? {} : null, savedChanges).data.value?.myTemplates ?? [];
  const chosen = useSignal<string | null>(null);
  const isWhole = useSignal(false);
  const saved = ownTemplates.find(({ name }) => name === chosen.value);
  const known = templates?.find(({ slug }) => slug === value);
  const isOwn = templates !== null && known === undefined && saved === undefined;
  const type = (text: string) => () => {
    chosen.value = null;
    onType(text);
  };
  const cards: Card[] = [
    ...ownTemplates.map((each) => ({
      key: `saved ${each.name}`,
      title: each.name,
      picture: 'box',
      about: texts.yours(each.description || each.template),
      isChecked: saved === each,
      choose: () => {
        chosen.value = each.name;
        onSaved(each);
      },
    })),
    ...(templates ?? []).map(({ slug, title, category, picture }) => ({
      key: slug,
      title: texts.ofCatalogue(title),
      picture,
      about: texts.category(category),
      isChecked: saved === undefined && slug === value,
      choose: type(slug),
    })),
  ];
  const own: Card = {
    key: '',
    title: texts.ownImage,
    picture: 'box',
    about: texts.anyRegistry,
    isChecked: isOwn,
    choose: type(''),
  };
  return (
    <fieldset class="stack-tight" aria-labelledby="deploy-template">
      <div class="row between">
        <h2 id="deploy-template">{texts.template}</h2>
        {cards.length >= CARDS_FIRST && (
          <button
            type="button"
            class="plain small"
            aria-expanded={isWhole.value}
            onClick={() => {
              isWhole.value = !isWhole.value;
            }}
          >
            {isWhole.value ? texts.fewer : texts.showAll(cards.length)}
          </button>
        )}
      </div>
      <div class="gallery">
        {templates !== null &&
          [...(isWhole.value ? cards : firstOf(cards)), own].map((card) => <TemplateCard key={card.key} of={card} />)}
      </div>
      {isOwn && (
        <label class="field">
          <span>{texts.image}</span>
          <input
            name="image"
            required
            maxLength={255}
            autocomplete="off"
            spellcheck={false}
            placeholder={texts.imageHint}
            value={value}
            onInput={({ currentTarget }) => onType(currentTarget.value)}
          />
        </label>
      )}
      {saved !== undefined && <OwnTemplate saved={saved} />}
      <div class="row between">
        {(templates === null || known !== undefined) && saved === undefined && (
          <p class="small quiet template-about">
            {known !== undefined && visible(texts.about(texts.ofCatalogue(known.description), known.vramGb))}
          </p>
        )}
        <p class="small quiet">
          {texts.modelToRun} <a href="/models">{screens['/models']}</a>
        </p>
      </div>
    </fieldset>
  );
}

/** Returns the first cards, so that a custom image still fits in. The selected card always belongs to them. */
function firstOf(cards: readonly Card[]): readonly Card[] {
  const first = cards.slice(0, CARDS_FIRST - 1);
  const selected = cards.find(({ isChecked }) => isChecked);
  return selected === undefined || first.includes(selected) ? first : [...first.slice(0, -1), selected];
}

const TemplateCard = ({ of: { key, title, picture, about, isChecked, choose } }: { of: Card }) => (
  <label class="choice card">
    <input type="radio" name="template" value={key} checked={isChecked} onChange={choose} />
    <Picture name={picture} />
    <span class="card-title">{visible(title)}</span>
    <span class="small quiet">{visible(about)}</span>
  </label>
);

/** Shows the actions for a saved template: sharing its link and deleting it. */
function OwnTemplate({ saved: { name, template, link, description, diskGb, launch } }: { saved: Saved }) {
  const error = useSignal<unknown>(null);
  const remove = async () => {
    try {
      await send(DeleteTemplate, { name });
      savedChanges.value += 1;
      const input = { name, description, template, diskGb, launch: launchOf(formOf(launch)).launch };
      const run = async () => {
        await send(SaveTemplate, { input });
        savedChanges.value += 1;
      };
      say(texts.isDeleted(name), { undo: { run, done: texts.restored(name) } });
    } catch (fault) {
      error.value = fault;
    }
  };
  return (
    <div class="stack-tight">
      <p class="small quiet">{texts.savedAs(visible(template))}</p>
      <div class="row">
        <Copy text={link} label={texts.copyLink(name)} />
        <button type="button" class="plain" onClick={remove}>
          {texts.deleteOne(name)}
        </button>
      </div>
      <Failure error={error.value} />
    </div>
  );
}
