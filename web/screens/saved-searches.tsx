import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { number } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { MAX_NAME_LENGTH, MAX_SEARCHES, type SavedKind, type SavedSearch, saved } from '../state/saved-searches.js';
import { say } from '../state/toasts.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/saved.js';

interface Props {
  of?: SavedKind;
  /** Returns how many rows a search finds, if the list knows. */
  count?(search: string): number;
}

/** Shows the named searches of a list stored in this browser. They can be saved, opened, renamed and deleted. */
export function SavedSearches({ of = 'machines', count }: Props) {
  const { all: searches, isKept, now: searchNow, save: saveSearch, pathOf } = saved(of);
  const own = texts[of];
  const isSaving = useSignal(false);
  const isEditing = useSignal(false);
  const error = useSignal('');
  const now = searchNow();
  const all = searches.value;
  if (all.length === 0 && now === '') return null;
  const save = (name: string) => {
    isSaving.value = false;
    error.value = '';
    if (name === '') return;
    if (saveSearch({ name, search: now })) say(isKept.value ? own.isSaved(visible(name)) : own.notKept);
    else error.value = own.tooMany(MAX_SEARCHES);
  };
  return (
    <section class="row small saved-searches" aria-label={own.title}>
      {all.length > 0 && of === 'machines' && <span class="quiet">{own.title}</span>}
      {all.map((one) =>
        isEditing.value ? (
          <Edited key={one.name} of={of} one={one} />
        ) : (
          <a key={one.name} class="badge" href={pathOf(one)} aria-current={one.search === now ? 'page' : undefined}>
            <Icon name="star" />
            {visible(one.name)}
            {count !== undefined && <span class="quiet">{number(count(one.search))}</span>}
          </a>
        ),
      )}
      {isSaving.value && <NameField label={own.nameOf} button={house.save} onDone={save} />}
      {!isSaving.value && now !== '' && !all.some(({ search }) => search === now) && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            isSaving.value = true;
          }}
        >
          {own.saveThis}
        </button>
      )}
      {all.length > 0 && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            isEditing.value = !isEditing.value;
          }}
        >
          {isEditing.value ? texts.done : texts.edit}
        </button>
      )}
      <span role="alert">{error.value}</span>
    </section>
  );
}

function Edited({ of, one }: { of: SavedKind; one: SavedSearch }) {
  const { remove: removeSearch, rename, save } = saved(of);
  const own = texts[of];
  const isRenaming = useSignal(false);
  const name = visible(one.name);
  const remove = () => {
    removeSearch(one.name);
    say(own.isRemoved(name), { undo: { run: async () => void save(one), done: own.restored(name) } });
  };
  if (isRenaming.value)
    return (
      <NameField
        label={texts.rename(name)}
        button={house.save}
        value={one.name}
        onDone={(next) => {
          isRenaming.value = false;
          rename(one.name, next);
        }}
      />
    );
  return (
    <span class="row">
      <strong>{name}</strong>
      <button
        type="button"
        class="plain"
        aria-label={texts.rename(name)}
        onClick={() => {
          isRenaming.value = true;
        }}
      >
        {texts.renameShort}
      </button>
      <button type="button" class="plain" aria-label={texts.remove(name)} onClick={remove}>
        {texts.removeShort}
      </button>
    </span>
  );
}

interface NameProps {
  label: string;
  button: string;
  value?: string;
  /** Called with the new name. An empty name changes nothing. */
  onDone(name: string): void;
}

function NameField({ label, button, value = '', onDone }: NameProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const done = () => onDone(field.current?.value.trim() ?? '');
  return (
    <span class="row">
      <input
        ref={field}
        aria-label={label}
        maxLength={MAX_NAME_LENGTH}
        autocomplete="off"
        defaultValue={value}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === 'Escape') onDone('');
          if (event.key !== 'Enter') return;
          event.preventDefault();
          done();
        }}
      />
      <button type="button" class="small-button" onClick={done}>
        {button}
      </button>
      <button type="button" class="plain" onClick={() => onDone('')}>
        {house.cancel}
      </button>
    </span>
  );
}
