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

/**
 * Shows cards for the account's saved templates, the catalogue's templates and a custom image. One of them is selected.
 */
export function Gallery({ value, onType, onSaved }: Props) {
  const templates = useTemplates();
  const ownTemplates =
    useRead(MyTemplates, session.value === 'in' ? {} : null, savedChanges).data.value?.myTemplates ?? [];
  const chosen = useSignal<string | null>(null);
  const saved = ownTemplates.find(({ name }) => name === chosen.value);
  const known = templates?.find(({ slug }) => slug === value);
  const isOwn = templates !== null && known === undefined && saved === undefined;
  const card = (
    key: string,
    isChecked: boolean,
    choose: () => void,
    [title, picture, small]: [string, string, string],
  ) => (
    <label class="choice card" key={key}>
      <input type="radio" name="template" value={key} checked={isChecked} onChange={choose} />
      <span>
        <Picture name={picture} /> {visible(title)}
      </span>
      <span class="small quiet">{visible(small)}</span>
    </label>
  );
  return (
    <fieldset class="stack-tight">
      <legend>{texts.template}</legend>
      <div class="gallery">
        {ownTemplates.map((each) =>
          card(
            `saved ${each.name}`,
            saved === each,
            () => {
              chosen.value = each.name;
              onSaved(each);
            },
            [each.name, 'box', texts.yours(each.description || each.template)],
          ),
        )}
        {templates?.map(({ slug, title, category, picture, vramGb }) =>
          card(
            slug,
            saved === undefined && slug === value,
            () => {
              chosen.value = null;
              onType(slug);
            },
            [
              title,
              picture,
              vramGb === null ? texts.category(category) : texts.ofCategory(texts.category(category), vramGb),
            ],
          ),
        )}
        {templates !== null &&
          card(
            '',
            isOwn,
            () => {
              chosen.value = null;
              onType('');
            },
            [texts.ownImage, 'box', texts.anyRegistry],
          )}
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
      {known !== undefined && saved === undefined && <p class="small quiet">{visible(known.description)}</p>}
      {saved !== undefined && <OwnTemplate saved={saved} />}
    </fieldset>
  );
}

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
