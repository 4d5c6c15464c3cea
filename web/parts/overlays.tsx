import { askedAction } from '../state/asked-action.js';
import { overlay } from '../state/shortcuts.js';
import { Confirm } from './actions.js';
import { loaded } from './loaded.js';
import { Toasts } from './toasts.js';

const Palette = loaded(async () => (await import('./palette.js')).Palette);
const ShortcutSheet = loaded(async () => (await import('./shortcut-sheet.js')).ShortcutSheet);

/** What lies over whatever screen is shown. */
export function Overlays() {
  const asked = askedAction.value;
  return (
    <>
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'shortcuts' && <ShortcutSheet />}
      {asked !== null && (
        <Confirm
          key={`${asked.action} ${asked.instance.id}`}
          instance={asked.instance}
          action={asked.action}
          cannotStart={null}
          onClose={() => {
            askedAction.value = null;
          }}
        />
      )}
      <Toasts />
    </>
  );
}
