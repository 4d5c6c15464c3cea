import { useEffect } from 'preact/hooks';
import { settled } from '../state/account.js';
import { askedAction } from '../state/asked-action.js';
import { path } from '../state/location.js';
import { session } from '../state/session.js';
import { overlay } from '../state/shortcuts.js';
import { Confirm } from './actions.js';
import { loaded } from './loaded.js';
import { Toasts } from './toasts.js';

const Palette = loaded(async () => (await import('./palette.js')).Palette);
const ShortcutSheet = loaded(async () => (await import('./shortcut-sheet.js')).ShortcutSheet);

/** Overlays shown above any screen. */
export function Overlays() {
  // A new screen closes the dialog.
  useEffect(() => {
    askedAction.value = null;
  }, [path.value, session.value]);
  return (
    <>
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'shortcuts' && <ShortcutSheet />}
      <AskedAction />
      <Toasts />
    </>
  );
}

/** Uses the instance's current state; a destroyed one has nothing to confirm. */
function AskedAction() {
  const asked = askedAction.value;
  const instance = settled.value?.instances.find(({ id }) => id === asked?.instance.id);
  if (asked === null || instance === undefined) return null;
  return (
    <Confirm
      key={`${asked.action} ${instance.id}`}
      instance={instance}
      action={asked.action}
      cannotStart={asked.cannotStart ?? null}
      onClose={() => {
        askedAction.value = null;
      }}
    />
  );
}
