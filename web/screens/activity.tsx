import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/activity.js';
import { ActivityLog } from './activity-log.js';

/** Shows changes and who requested them. */
export function Activity() {
  useTitle(texts.title);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.title}</h1>
      <ActivityLog />
    </div>
  );
}
