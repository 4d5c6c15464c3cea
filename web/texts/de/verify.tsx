import { number } from '../../figures/number.js';
import type { texts as english } from '../en/verify.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Kontoauszüge prüfen',
  what: 'Hier können Sie oder Ihre Buchhaltung prüfen, ob ein Kontoauszug stimmt und seit der Ausstellung unverändert ist. Auch dieser Dienst kann ihn nicht unbemerkt ändern.',
  drop: 'Dateien hier ablegen',
  how: 'So prüfen Sie einen Kontoauszug',
  getStatement: 'Kontoauszug laden',
  statementFrom: (billing) => <>Wählen Sie unter {billing} „Herunterladen“ und „Signiertes JSON“.</>,
  getProofs: 'Nachweise laden',
  savedProofs: 'Die Schlüssel und das öffentliche Protokoll, die Sie mit dieser Seite gespeichert haben.',
  giveAll: 'Alle Dateien ablegen',
  giveAllBelow: 'Zu jeder Datei erscheint das Ergebnis.',
  example: 'Beispiel eines Ergebnisses',
  experts: 'Weitere Dateien und Nachweise',
  which:
    'Signierte Kontoauszüge, Schlüssel, Einträge des öffentlichen Protokolls sowie Inklusions- und Konsistenznachweise, in beliebiger Reihenfolge. Fügen Sie Schlüssel, Protokolleinträge und Kontoauszüge hinzu, die Sie früher gespeichert haben, um die neuen damit zu vergleichen. Sie können diese Seite auch speichern und ohne diesen Dienst verwenden.',
  choose: 'Dateien auswählen',
  fromService: (keys, roots) => (
    <>
      Laden Sie die {keys} und das {roots} herunter. Sie belegen, wer ihn wann signiert hat.
    </>
  ),
  keys: 'öffentlichen Schlüssel',
  roots: 'öffentliche Protokoll',
  offline: 'Ihre Dateien bleiben in diesem Browser: Diese Seite sendet nichts und funktioniert offline.',

  something: 'Es stimmt nicht alles',
  nothingWrong: 'Nichts ist falsch, aber nicht alles lässt sich prüfen',
  everything: (statements, keys, roots) => {
    const parts = [
      plural(statements, { one: '1 Kontoauszug', other: `${number(statements)} Kontoauszüge` }),
      `${number(keys)} Schlüssel`,
      plural(roots, { one: '1 Protokolleintrag', other: `${number(roots)} Protokolleinträge` }),
    ];
    return `Alles stimmt: ${parts.join(', ')}`;
  },
  files: 'Dateien',
  states: { sound: 'geprüft', fault: 'stimmt nicht', unchecked: 'nicht prüfbar' },
  removeFile: (name) => `${name} entfernen`,
  checks: {
    format: 'Format',
    keys: 'Schlüssel',
    amount: 'Betrag',
    chain: 'Kette',
    lines: 'Zeilen',
    balance: 'Guthaben',
    signature: 'Signatur',
    inclusion: 'Inklusion',
    roots: 'Öffentliches Protokoll',
    consistency: 'Konsistenz',
    statements: 'Kontoauszüge',
    unchecked: 'Nicht geprüft',
  },
  line: (line) => `Zeile ${line}:`,
  more: (count) => `und ${number(count)} weitere`,

  account: 'Konto',
  period: 'Zeitraum',
  linesAdd: (lines) =>
    plural(lines, { one: '1 Zeile mit richtigem Betrag', other: `${number(lines)} Zeilen, alle mit richtigem Betrag` }),
  sum: (opening, isNegative, change, closing) => (
    <>
      {opening} {isNegative ? '−' : '+'} {change} = {closing} USD
    </>
  ),
  signed: 'gültig, mit einem der Schlüssel',
  log: 'Protokoll',
  notCovered: 'noch nicht abgedeckt',
  covered: (link, root) => `Buchungen bis Nr. ${number(link)}, abgedeckt durch Protokolleintrag ${number(root)}`,
  invoiceHash: 'Hash auf der Rechnung',
};
