import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/notices.js';
import { WebhookList } from './webhook-list.js';

/** Shows where notifications are sent. */
export function Webhooks() {
  useTitle(texts.title);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.title}</h1>
      <WebhookList />
    </div>
  );
}
