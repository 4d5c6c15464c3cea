import { useEffect } from 'preact/hooks';
import { settled } from '../state/account.js';
import { path } from '../state/location.js';
import { pendingAction } from '../state/pending-action.js';
import { session } from '../state/session.js';
import { overlay } from '../state/shortcuts.js';
import { Confirm } from './actions.js';
import { loaded } from './loaded.js';
import { Toasts } from './toasts.js';

const Palette = loaded(async () => (await import('./palette.js')).Palette);
const ShortcutSheet = loaded(async () => (await import('./shortcut-sheet.js')).ShortcutSheet);

/** The overlays that can appear above any screen. */
export function Overlays() {
  // Navigating to another screen closes the dialog.
  useEffect(() => {
    pendingAction.value = null;
  }, [path.value, session.value]);
  return (
    <>
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'shortcuts' && <ShortcutSheet />}
      <PendingAction />
      <Toasts />
    </>
  );
}

/**
 * Shows the dialog for the pending action, based on the instance's current state. Once the instance is destroyed, there
 * is nothing left to confirm.
 */
function PendingAction() {
  const pending = pendingAction.value;
  const instance = settled.value?.instances.find(({ id }) => id === pending?.instance.id);
  if (pending === null || instance === undefined) return null;
  return (
    <Confirm
      key={`${pending.action} ${instance.id}`}
      instance={instance}
      action={pending.action}
      cannotStart={pending.cannotStart ?? null}
      onClose={() => {
        pendingAction.value = null;
      }}
    />
  );
}
