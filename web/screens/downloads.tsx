import { useEffect } from 'preact/hooks';
import { csv } from '../figures/csv.js';
import { micro, plainUsd } from '../figures/money.js';
import { FocusExport, Invoice, SignedStatement } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import type { MoneyRead } from '../state/money-read.js';
import { type Download, saveFile } from '../state/save-file.js';
import type { useWork } from '../state/work.js';
import { texts } from '../texts/en/downloads.js';

/** The formats, with their icons. */
const FORMATS = { csv: 'file', focus: 'columns-3', signed: 'shield-check', invoice: 'file-text' } as const;

type Format = keyof typeof FORMATS;

export type Stated = NonNullable<MoneyRead['statement']>;

export interface Props {
  stated: Stated;
  /** Runs the downloads. Its owner shows the error. */
  work: ReturnType<typeof useWork>;
}

/** Offers a month's statement in several formats. */
export function Downloads({ stated, work: { isBusy, error, run } }: Props) {
  useEffect(() => {
    error.value = null;
  }, [stated.from]);
  const items = (Object.keys(FORMATS) as Format[]).map((format) => ({
    name: texts.formats[format],
    note: texts.uses[format],
    icon: FORMATS[format],
    onChoose: () => void run(async () => saveFile(await READ[format](stated))),
  }));
  return (
    <Menu label={texts.download} items={items}>
      <Icon name="download" />
      {isBusy.value ? texts.busy : texts.download}
      <Icon name="chevron-down" />
    </Menu>
  );
}

const monthOf = ({ from }: Stated): string => from.slice(0, 7);

const READ: Record<Format, (stated: Stated) => Promise<Download>> = {
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
