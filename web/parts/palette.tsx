import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Command, foundCommands } from '../state/command-search.js';
import { allCommands } from '../state/commands.js';
import { useSheet } from '../state/market.js';
import { isPaletteKey, overlay } from '../state/shortcuts.js';
import '../style/palette.css';
import { texts } from '../texts/en/commands.js';
import { Icon } from './icon.js';

/**
 * Finds screens, instances, models and actions as the user types. It can be used with only the keyboard or only a
 * pointer.
 */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [typed, type] = useState('');
  const [place, choose] = useState(0);
  useSheet();
  useEffect(() => dialog.current?.showModal(), []);
  const found = byGroup(foundCommands(allCommands(), typed));
  const chosen = Math.min(place, found.length - 1);
  const idOf = (index: number) => `${list}-${index}`;
  useEffect(() => {
    document.getElementById(idOf(chosen))?.scrollIntoView({ block: 'nearest' });
  }, [chosen, typed]);
  const close = () => {
    // The browser returns the focus to the previously focused element.
    dialog.current?.close();
    overlay.value = null;
  };
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    // The palette closes before the focus moves to the opened screen.
    close();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + 8, PageUp: chosen - 8 }[event.key];
    if (isPaletteKey(event)) close();
    else if (event.key === 'Enter' && !event.isComposing) run(found[chosen]);
    else if (to === undefined) return;
    // A step beyond either end wraps around to the other one.
    else if (Math.abs(to - chosen) === 1) choose((to + found.length) % Math.max(1, found.length));
    else choose(Math.max(0, Math.min(found.length - 1, to)));
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={texts.label}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // The area around the content belongs to the dialog element itself.
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <div class="palette-box">
        <label class="palette-field">
          <Icon name="search" />
          <span class="hidden">{texts.field}</span>
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls={list}
            aria-activedescendant={found.length > 0 ? idOf(chosen) : undefined}
            aria-autocomplete="list"
            autocomplete="off"
            spellcheck={false}
            maxLength={100}
            placeholder={texts.placeholder}
            value={typed}
            onInput={({ currentTarget }) => {
              type(currentTarget.value);
              choose(0);
            }}
            onKeyDown={press}
          />
          <kbd>Esc</kbd>
        </label>
        <Results id={list} found={found} chosen={chosen} idOf={idOf} onRun={run} onPoint={choose} />
        <p class="hidden" role="status">
          {found.length === 0 ? texts.nothing : ''}
        </p>
      </div>
    </dialog>
  );
}

/** Groups the results. The groups are in order of first occurrence. */
function byGroup(found: readonly Command[]): readonly Command[] {
  const groups = [...new Set(found.map(({ group }) => group))];
  return groups.flatMap((name) => found.filter(({ group }) => group === name));
}

interface ResultsProps {
  id: string;
  found: readonly Command[];
  chosen: number;
  idOf(place: number): string;
  onRun(command: Command): void;
  onPoint(place: number): void;
}

function Results({ id, found, chosen, idOf, onRun, onPoint }: ResultsProps) {
  const groups = [...new Set(found.map(({ group }) => group))];
  return (
    <>
      <div id={id} class="palette-list" role="listbox" aria-label={texts.results} tabIndex={-1}>
        {groups.map((group) => (
          <fieldset key={group} aria-label={group}>
            <p class="palette-group" aria-hidden="true">
              {group}
            </p>
            {found.map(
              (command, place) =>
                command.group === group && (
                  // The field keeps the focus and receives key presses.
                  <button
                    type="button"
                    tabIndex={-1}
                    key={command.id}
                    id={idOf(place)}
                    class="palette-item"
                    role="option"
                    aria-selected={place === chosen}
                    onClick={() => onRun(command)}
                    onPointerMove={() => place !== chosen && onPoint(place)}
                  >
                    <Icon name={command.icon} />
                    <span>{command.name}</span>
                    <span class="quiet small">{command.hint}</span>
                  </button>
                ),
            )}
          </fieldset>
        ))}
      </div>
      {found.length === 0 && <p class="empty">{texts.tryOther}</p>}
    </>
  );
}
