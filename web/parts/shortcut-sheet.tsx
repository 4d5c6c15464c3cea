import { isMac, overlay, SHORTCUTS, singleKeys } from '../state/shortcuts.js';
import { shortcuts, texts } from '../texts/en/commands.js';
import { texts as house } from '../texts/en/house.js';
import { Dialog } from './dialog.js';

/** Lists the keyboard shortcuts and contains a switch that disables them. */
export function ShortcutSheet() {
  return (
    <Dialog
      title={texts.shortcuts}
      isNarrow
      onClose={() => {
        overlay.value = null;
      }}
    >
      <div class="dialog-body stack">
        <dl class="shortcuts">
          <div>
            <dt>{texts.placeholder}</dt>
            <dd>
              <kbd>{isMac() ? '⌘' : house.control}</kbd> <kbd>K</kbd>
            </dd>
          </div>
          {SHORTCUTS.map(({ keys, name }) => (
            <div key={name}>
              <dt>{shortcuts[name]}</dt>
              <dd>
                {keys.map((key, place) => (
                  <span key={key}>
                    {place > 0 && <span class="quiet small">{texts.next}</span>}
                    <kbd>{key}</kbd>
                  </span>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={singleKeys.value}
            onChange={({ currentTarget }) => {
              singleKeys.value = currentTarget.checked;
            }}
          />
          <span>{texts.singleKeys}</span>
        </label>
      </div>
    </Dialog>
  );
}
