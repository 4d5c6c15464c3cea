import { number } from '../../figures/number.js';
import type { texts as english } from '../en/verify.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Kontoauszüge prüfen',
  what: 'Prüfen Sie signierte Kontoauszüge und andere Nachweise in diesem Browser. Sie können diese Seite speichern und ohne diesen Dienst verwenden.',
  drop: 'Dateien hier ablegen',
  which:
    'Signierte Kontoauszüge, Schlüssel, Wurzeln sowie Inklusions- und Konsistenzbeweise, in beliebiger Reihenfolge. Fügen Sie Schlüssel, Wurzeln und Kontoauszüge hinzu, die Sie früher gespeichert haben, um die neuen damit zu vergleichen.',
  choose: 'Dateien auswählen',
  fromService: (keys, roots) => (
    <>
      {keys} und {roots} dieses Dienstes herunterladen.
    </>
  ),
  keys: 'Schlüssel',
  roots: 'Wurzeln',
  offline: 'Diese Seite sendet nichts und funktioniert ohne Verbindung.',

  something: 'Es stimmt nicht alles',
  nothingWrong: 'Nichts ist falsch, aber nicht alles lässt sich prüfen',
  everything: (statements, keys, roots) => {
    const parts = [
      plural(statements, { one: '1 Kontoauszug', other: `${number(statements)} Kontoauszüge` }),
      `${number(keys)} Schlüssel`,
      plural(roots, { one: '1 Wurzel', other: `${number(roots)} Wurzeln` }),
    ];
    return `Alles stimmt: ${parts.join(', ')}`;
  },
  files: 'Dateien',
  states: { sound: 'stimmt', fault: 'stimmt nicht', unchecked: 'nicht prüfbar' },
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
    roots: 'Wurzeln',
    consistency: 'Konsistenz',
    statements: 'Kontoauszüge',
    unchecked: 'Nicht geprüft',
  },
  line: (line) => `Zeile ${line}:`,
  more: (count) => `und ${number(count)} weitere`,

  account: 'Konto',
  period: 'Zeitraum',
  amounts: 'USD',
  sum: (opening, isNegative, change, closing, lines) => (
    <>
      {opening} {isNegative ? '−' : '+'} {change} ({plural(lines, { one: '1 Zeile', other: `${number(lines)} Zeilen` })}
      ) = {closing}
    </>
  ),
  log: 'Log',
  notCovered: 'noch von keiner Wurzel abgedeckt',
  covered: (link, root) => `bis Glied ${link} von Wurzel ${root} abgedeckt`,
  invoiceHash: 'Hash auf der Rechnung',
};
