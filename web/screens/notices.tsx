import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useRef } from 'preact/hooks';
import { micro } from '../figures/money.js';
import {
  type Events,
  NOTICE_KINDS,
  type NoticeKind,
  received,
  receivedKinds,
  withKind,
} from '../figures/notice-kinds.js';
import { visible } from '../figures/visible.js';
import { ChangeWebhook, type Notifications, SetMailAddress } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { useWork } from '../state/work.js';
import { texts as billing } from '../texts/en/billing-settings.js';
import { texts as house } from '../texts/en/house.js';
import { texts as mailTexts } from '../texts/en/mail.js';
import { texts } from '../texts/en/webhooks.js';
import { NoticeDialog } from './billing-settings.js';
import { isMailed } from './mail.js';

type Read = ResultOf<typeof Notifications>;

const ICONS: Readonly<Record<NoticeKind, string>> = {
  instances: 'server',
  ends: 'clock',
  low: 'wallet',
  credit: 'credit-card',
  network: 'key-round',
  delivery: 'triangle-alert',
};

const MAIL = 'mail';

/** A column of the list. */
interface Recipient {
  id: string;
  name: string;
  /** The whole address, which names the column for screen readers and on hover. */
  address: string;
  events: Events;
  /** Whether its notices can be changed. */
  isOpen: boolean;
  save(events: string[]): Promise<unknown>;
}

function recipientsOf({ sendsMail, mailAddress: mail, webhooks }: Read): Recipient[] {
  const hosts = webhooks?.map(({ url }) => hostOf(url)) ?? [];
  return [
    ...(sendsMail && mail !== null
      ? [
          {
            id: MAIL,
            name: mailTexts.title,
            address: visible(mail.address),
            events: mail.events,
            // Setting the address would send another link, or resume it.
            isOpen: isMailed(mail),
            save: (events: string[]) => send(SetMailAddress, { address: mail.address, events }),
          },
        ]
      : []),
    ...(webhooks ?? []).map(({ id, url, events }, place) => ({
      id,
      // Webhooks at the same host are named by their URLs.
      name: visible(hosts.indexOf(hosts[place]!) === hosts.lastIndexOf(hosts[place]!) ? hosts[place]! : url),
      address: visible(url),
      events,
      isOpen: true,
      save: (chosen: string[]) => send(ChangeWebhook, { id, events: chosen }),
    })),
  ];
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

interface Props {
  of: Read;
  onChanged(): void;
}

/** Lists what the account is notified of, with a checkbox for each recipient. A change is saved immediately. */
export function Notices({ of, onChanged }: Props) {
  const isEditing = useSignal(false);
  const { error, run } = useWork(onChanged);
  /** The choices made since the last response, by recipient. */
  const chosen = useSignal<ReadonlyMap<string, Events>>(new Map());
  const queue = useRef({ length: 0, end: Promise.resolve() }).current;
  useEffect(() => {
    if (queue.length === 0) chosen.value = new Map();
  }, [of]);
  const below = of.balanceNotice;
  const recipients = recipientsOf(of).map((each) => ({ ...each, events: chosen.value.get(each.id) ?? each.events }));
  const choose = ({ id, events, save }: Recipient, kind: NoticeKind, isOn: boolean) => {
    const next = withKind(events, kind, isOn);
    chosen.value = new Map(chosen.value).set(id, next);
    queue.length += 1;
    // One after another, so that the last choice is the one that stays.
    queue.end = queue.end.then(async () => {
      await run(() => save(next));
      queue.length -= 1;
    });
  };
  return (
    <section class="panel" aria-labelledby="notices">
      <div class="panel-head">
        <div>
          <h2 id="notices">{texts.notices}</h2>
          <p class="small quiet">{recipients.length === 0 ? texts.noticesWithout : texts.noticesWhat}</p>
        </div>
      </div>
      <Failure error={error.value} />
      <div class="scroll">
        <Table
          isCards
          class="notices"
          columns={[
            [texts.columns.event],
            ...recipients.map(
              ({ id, name, address }) =>
                [id === MAIL ? texts.byMail : texts.to(name), undefined, 'by', address] as const,
            ),
          ]}
        >
          {(Object.keys(NOTICE_KINDS) as NoticeKind[]).map((kind) => {
            const isOff = kind === 'low' && below === null;
            const [name, when] = texts.kinds[kind];
            return (
              <tr key={kind}>
                <th scope="row">
                  <span class="notice-name">
                    <span class="tile">
                      <Icon name={ICONS[kind]} />
                    </span>
                    <span>
                      {name}
                      <span class="small quiet">
                        {kind === 'low' ? (
                          <>
                            {below === null ? texts.lowOff : texts.lowAt(<Amount of={micro(below)} unit="USD" />)}{' '}
                            <button
                              type="button"
                              class="plain"
                              aria-label={below === null ? undefined : house.editOf(billing.notice)}
                              onClick={() => {
                                isEditing.value = true;
                              }}
                            >
                              {below === null ? texts.setThreshold : house.edit}
                            </button>
                          </>
                        ) : (
                          when
                        )}
                      </span>
                    </span>
                  </span>
                </th>
                {recipients.map((recipient) => (
                  <Choice
                    key={recipient.id}
                    of={recipient}
                    kind={kind}
                    isOff={isOff}
                    onChoose={(isOn) => choose(recipient, kind, isOn)}
                  />
                ))}
              </tr>
            );
          })}
        </Table>
      </div>
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

interface ChoiceProps {
  of: Recipient;
  kind: NoticeKind;
  /** Whether the notice isn't sent to any recipient. */
  isOff: boolean;
  onChoose(isOn: boolean): void;
}

/** A checkbox for whether a recipient receives a kind of notice. */
function Choice({ of: { name, address, events, isOpen }, kind, isOff, onChoose }: ChoiceProps) {
  const state = received(events, kind);
  const kinds = receivedKinds(events);
  const isLast = kinds.length === 1 && kinds[0] === kind && state === 'all';
  const hint = isOff ? texts.lowOff : !isOpen ? texts.notOpen : isLast ? texts.isLast : address;
  return (
    <td class="by">
      <label class="check" title={hint}>
        <input
          type="checkbox"
          aria-label={texts.sendTo(texts.kinds[kind][0], address)}
          checked={state === 'all'}
          indeterminate={state === 'some'}
          disabled={isOff || !isOpen || isLast}
          onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
        />
        <span class="by-name">{name}</span>
      </label>
    </td>
  );
}
