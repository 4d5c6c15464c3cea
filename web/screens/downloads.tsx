import { useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import { csv } from '../figures/csv.js';
import { micro, plainUsd } from '../figures/money.js';
import { FocusExport, Invoice, SignedStatement } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { useDisclosure } from '../parts/disclosure.js';
import { Icon } from '../parts/icon.js';
import type { MoneyRead } from '../state/money-read.js';
import { type Download, saveFile } from '../state/save-file.js';
import type { useWork } from '../state/work.js';
import { texts } from '../texts/en/downloads.js';
import { BillingDetailsDialog } from './billing-details.js';

const FORMATS = ['csv', 'focus', 'signed', 'invoice'] as const;

export type Stated = NonNullable<MoneyRead['statement']>;

export interface Props {
  stated: Stated;
  /** Runs the downloads. Its owner shows the error. */
  work: ReturnType<typeof useWork>;
}

/** Offers a month's statement in several formats, and the account's details on its invoices. */
export function Downloads({ stated, work: { isBusy, error, run } }: Props) {
  const { isOpen, button, content } = useDisclosure();
  const isEditing = useSignal(false);
  const id = useId();
  useEffect(() => {
    error.value = null;
  }, [stated.from]);
  const download = async (format: (typeof FORMATS)[number]) => {
    isOpen.value = false;
    button.current?.focus();
    await run(async () => saveFile(await READ[format](stated)));
  };
  return (
    <>
      <button
        type="button"
        onClick={() => {
          isEditing.value = true;
        }}
      >
        {texts.details}
      </button>
      <div class="downloads">
        <button
          type="button"
          ref={button}
          aria-expanded={isOpen.value}
          aria-controls={id}
          aria-disabled={isBusy.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          <Icon name="download" />
          {texts.download}
          <Icon name="chevron-down" />
        </button>
        <div id={id} ref={content} class="downloads-list" hidden={!isOpen.value}>
          {FORMATS.map((format) => (
            <button key={format} type="button" class="ghost" onClick={() => void download(format)}>
              <span>{texts.formats[format]}</span>
              <span class="small quiet">{texts.uses[format]}</span>
            </button>
          ))}
        </div>
      </div>
      {isEditing.value && (
        <BillingDetailsDialog
          onClose={() => {
            isEditing.value = false;
          }}
        />
      )}
    </>
  );
}

const monthOf = ({ from }: Stated): string => from.slice(0, 7);

const READ: Record<(typeof FORMATS)[number], (stated: Stated) => Promise<Download>> = {
  csv: async (stated) => ({ name: `statement-${monthOf(stated)}.csv`, type: 'text/csv', content: csvOf(stated) }),
  focus: async (stated) => {
    const { focusExport } = await send(FocusExport, { month: monthOf(stated) });
    return { name: `focus-${monthOf(stated)}.csv`, type: 'text/csv', content: focusExport ?? '' };
  },
  signed: async (stated) => {
    const { signedStatement } = await send(SignedStatement, { month: monthOf(stated) });
    const content = `${JSON.stringify(signedStatement)}\n`;
    return { name: `statement-${monthOf(stated)}.json`, type: 'application/json', content };
  },
  invoice: async (stated) => {
    const { invoice } = await send(Invoice, { month: monthOf(stated) });
    return { name: `invoice-${invoice!.number}.html`, type: 'text/html', content: invoice!.html };
  },
};

function csvOf({ from, to, openingBalance, closingBalance, lines, movements }: Stated): string {
  return csv([
    [
      'kind',
      'at',
      'instance',
      'rate_per_hour_usd',
      'seconds',
      'amount_usd',
      'exact_units',
      'note',
      'reference',
      'from',
      'to',
    ],
    ['OPENING_BALANCE', from, '', '', '', plain(openingBalance), '', '', '', '', ''],
    ...movements.map(({ kind, at, instanceId, amount, note, reference }) => [
      kind,
      at,
      instanceId ?? '',
      '',
      '',
      plain(amount),
      '',
      note ?? '',
      reference ?? '',
      '',
      '',
    ]),
    ...lines.map(({ kind, instanceId, volumeId, ratePerHour, seconds, from, to, amount, units }) => [
      kind,
      '',
      instanceId ?? volumeId ?? '',
      plain(ratePerHour),
      String(seconds),
      plain(-amount),
      units,
      '',
      '',
      from,
      to,
    ]),
    ['CLOSING_BALANCE', to, '', '', '', plain(closingBalance), '', '', '', '', ''],
  ]);
}

const plain = (amount: number): string => plainUsd(micro(amount));
