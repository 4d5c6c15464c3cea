import { useTitle } from '../state/title.js';
import { screens } from '../texts/en/screens.js';
import { Recipients } from './webhook-list.js';

/** Shows where notifications are sent. */
export function Webhooks() {
  useTitle(screens['/notifications']);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{screens['/notifications']}</h1>
      <Recipients />
    </div>
  );
}
