import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { micro } from '../figures/money.js';
import type { Notifications } from '../graph/documents.js';
import { Amount } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { Table } from '../parts/table.js';
import { texts as billing } from '../texts/en/billing-settings.js';
import { texts as house } from '../texts/en/house.js';
import { texts as mailTexts } from '../texts/en/mail.js';
import { texts } from '../texts/en/webhooks.js';
import { NoticeDialog } from './billing-settings.js';
import { isMailed } from './mail.js';

/** Events of instances other than the upcoming ones. */
const OF_INSTANCES = [
  ...['instance.running', 'instance.stopped', 'instance.failed'],
  ...['instance.preempted', 'instance.destroyed', 'instance.gpu_missing'],
];

/** The notices, each with its icon and the beginnings of its events' types. */
const NOTICES = [
  ['instances', 'server', OF_INSTANCES],
  ['ends', 'clock', ['instance.ending', 'instance.idle_soon', 'balance.ending']],
  ['low', 'wallet', ['balance.low']],
  ['credit', 'credit-card', ['balance.credited', 'balance.exhausted', 'topup.']],
  ['network', 'key-round', ['key.']],
  ['delivery', 'triangle-alert', ['mail.paused', 'webhook.paused']],
] as const;

interface Props {
  of: ResultOf<typeof Notifications>;
  onChanged(): void;
}

/** Lists what the account is notified of, and how. Only the low-balance notice can be set. */
export function Notices({ of: { balanceNotice: below, sendsMail, mailAddress, webhooks }, onChanged }: Props) {
  const isEditing = useSignal(false);
  const hasMail = sendsMail || mailAddress !== null;
  const mailed = sendsMail && mailAddress !== null && isMailed(mailAddress) ? [mailAddress] : [];
  const hooked = webhooks?.filter(({ pausedAt }) => pausedAt === null) ?? [];
  return (
    <section class="panel" aria-labelledby="notices">
      <div class="panel-head">
        <div>
          <h2 id="notices">{texts.notices}</h2>
          <p class="small quiet">{texts.noticesWhat}</p>
        </div>
      </div>
      <Table
        isCards
        class="notices"
        columns={[
          [texts.columns.event],
          ...(hasMail ? [[mailTexts.title, undefined, 'by'] as const] : []),
          [texts.webhook, undefined, 'by'],
          [texts.columns.actions, 'unseen'],
        ]}
      >
        {NOTICES.map(([kind, icon, types]) => {
          const isOff = kind === 'low' && below === null;
          const isSent = (to: readonly { events: readonly string[] | null }[]) =>
            !isOff &&
            to.some(
              ({ events }) => events === null || events.some((each) => types.some((type) => each.startsWith(type))),
            );
          const [name, when] = texts.kinds[kind];
          return (
            <tr key={kind}>
              <th scope="row">
                <span class="notice-name">
                  <span class="tile">
                    <Icon name={icon} />
                  </span>
                  <span>
                    {name}
                    <span class="small quiet" title={when}>
                      {kind !== 'low'
                        ? when
                        : below === null
                          ? texts.lowOff
                          : texts.lowAt(<Amount of={micro(below)} unit="USD" />)}
                    </span>
                  </span>
                </span>
              </th>
              {hasMail && <Mark by={mailTexts.title} isSent={isSent(mailed)} />}
              <Mark by={texts.webhook} isSent={isSent(hooked)} />
              <td class="number">
                {kind === 'low' && (
                  <button
                    type="button"
                    aria-label={house.editOf(billing.notice)}
                    onClick={() => {
                      isEditing.value = true;
                    }}
                  >
                    {house.edit}
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </Table>
      {isEditing.value && (
        <NoticeDialog
          below={below}
          onChanged={onChanged}
          onClose={() => {
            isEditing.value = false;
          }}
        />
      )}
    </section>
  );
}

/** Shows whether a notice is sent on a channel. */
const Mark = ({ by, isSent }: { by: string; isSent: boolean }) => (
  <td data-label={by} class="by quiet">
    {isSent ? <Icon name="check" /> : <span aria-hidden="true">–</span>}
    <span class="hidden">{isSent ? texts.isSent : texts.isNotSent}</span>
  </td>
);
