import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/activity.js';
import { ActivityLog } from './activity-log.js';

/** Changes with their callers. */
export function Activity() {
  useTitle(texts.title);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.title}</h1>
      <ActivityLog />
    </div>
  );
}
