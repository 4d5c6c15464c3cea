import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/activity-log.js';
import { screens } from '../texts/en/screens.js';
import { ActivityLog } from './activity-log.js';

/** Shows changes and who requested them. */
export function Activity() {
  useTitle(screens['/activity']);
  return (
    <div class="stack">
      <div>
        <h1 tabIndex={-1}>{screens['/activity']}</h1>
        <p class="small quiet">{texts.what}</p>
      </div>
      <ActivityLog />
    </div>
  );
}
