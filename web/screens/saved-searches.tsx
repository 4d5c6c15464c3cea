import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import {
  isKept,
  MAX_NAME_LENGTH,
  MAX_SEARCHES,
  pathOfSearch,
  removeSearch,
  renameSearch,
  type SavedSearch,
  savedSearches,
  saveSearch,
  searchNow,
} from '../state/saved-searches.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/machines.js';

/** Shows the named searches stored in this browser. They can be saved, opened, renamed and deleted. */
export function SavedSearches() {
  const isSaving = useSignal(false);
  const isEditing = useSignal(false);
  const error = useSignal('');
  const now = searchNow();
  const all = savedSearches.value;
  if (all.length === 0 && now === '') return null;
  const save = (name: string) => {
    isSaving.value = false;
    error.value = '';
    if (name === '') return;
    if (saveSearch({ name, search: now })) say(isKept.value ? texts.isSaved(visible(name)) : texts.notKept);
    else error.value = texts.tooMany(MAX_SEARCHES);
  };
  return (
    <section class="row small saved-searches" aria-label={texts.saved}>
      {all.length > 0 && <span class="quiet">{texts.saved}</span>}
      {all.map((one) =>
        isEditing.value ? (
          <Edited key={one.name} one={one} />
        ) : (
          <a
            key={one.name}
            class="badge"
            href={pathOfSearch(one)}
            aria-current={one.search === now ? 'page' : undefined}
          >
            <Icon name="star" />
            {visible(one.name)}
          </a>
        ),
      )}
      {isSaving.value && <NameField label={texts.saveAs} button={texts.save} onDone={save} />}
      {!isSaving.value && now !== '' && !all.some(({ search }) => search === now) && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            isSaving.value = true;
          }}
        >
          {texts.saveSearch}
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

function Edited({ one }: { one: SavedSearch }) {
  const isRenaming = useSignal(false);
  const name = visible(one.name);
  const remove = () => {
    removeSearch(one.name);
    say(texts.isRemoved(name), { undo: { run: async () => void saveSearch(one), done: texts.restored(name) } });
  };
  if (isRenaming.value)
    return (
      <NameField
        label={texts.rename(name)}
        button={texts.save}
        value={one.name}
        onDone={(next) => {
          isRenaming.value = false;
          renameSearch(one.name, next);
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
        {texts.cancel}
      </button>
    </span>
  );
}
