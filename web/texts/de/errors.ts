import { GROUP, POINT } from '../../figures/number.js';
import type {
  texts as english,
  before as englishBefore,
  instead as englishInstead,
  known as englishKnown,
} from '../en/errors.js';

export const texts: typeof english = {
  lostWrite:
    'Der Dienst antwortet nicht. Ob Ihr Auftrag ausgeführt wurde, ist noch offen; die Seite zeigt es, sobald die Verbindung wieder da ist.',
  lostRead: 'Der Dienst antwortet nicht. Die Seite fragt von selbst wieder an.',
  broken: 'Auf dieser Seite ist etwas schiefgegangen. Laden Sie sie neu.',
  tooOften: 'Zu viele Anfragen dieses Kontos innerhalb einer Minute.',
  sessionOver:
    'Sie sind abgemeldet: Der Schlüssel dieser Sitzung gilt nicht mehr, oder die Sitzung ist 12 Stunden alt.',
  tryAgain: (seconds) =>
    seconds === 0 ? ' Versuchen Sie es jetzt erneut.' : ` Versuchen Sie es in ${seconds} s erneut.`,
  notArrived: (nothing) =>
    `Die Anfrage ist nicht angekommen: ${nothing}. Drücken Sie den Knopf, um sie erneut zu senden.`,
};

export const instead: typeof englishInstead = {
  unauthorized: 'Sie sind abgemeldet: Der Schlüssel gilt nicht oder nicht mehr.',
  idempotency_in_progress: 'Ihre erste Anfrage läuft noch. Sehen Sie gleich bei Ihren Instanzen nach.',
  idempotency_mismatch:
    'Eine frühere Anfrage dieses Dialogs wurde ausgeführt, nur ihre Antwort ging verloren. Sehen Sie bei Ihren Instanzen nach, bevor Sie noch einmal mieten.',
  unavailable: 'Der Dienst ist überlastet oder startet neu. Versuchen Sie es gleich noch einmal.',
  internal: 'Im Dienst ist ein Fehler aufgetreten. Es lag nicht an Ihnen; versuchen Sie es gleich noch einmal.',
  no_route: 'Diese Adresse gibt es nicht.',
  missing_machine: 'Es ist keine Maschine gewählt.',
};

/** The service writes "1,234.50". */
const figure = (text: string): string => text.replace(/[,.]/g, (separator) => (separator === ',' ? GROUP : POINT));

export const known: typeof englishKnown = [
  [
    /^balance too low: ([-\d.,]+) USD does not cover (\S+ \w+) of all instances, which cost ([\d.,]+) USD$/,
    (has, span, needs) =>
      `Ihr Guthaben von ${figure(has!)} USD ist zu klein: Für ${figure(span!)} aller Instanzen sind ${figure(needs!)} USD nötig.`,
  ],
  [/^machine (\S+) is taken$/, (id) => `Die Maschine ${id} ist inzwischen vergeben.`],
  [/^machine (\S+) is (?:offline|unreachable)$/, (id) => `Die Maschine ${id} ist nicht erreichbar.`],
  [/^machine (\S+) is no longer listed$/, (id) => `Die Maschine ${id} wird nicht mehr angeboten.`],
  [/^no machine (\S+) is offered$/, (id) => `Eine Maschine ${id} wird nicht angeboten.`],
  [
    /^machine (\S+) costs ([\d.,]+) USD per hour, more than the maximum of ([\d.,]+)$/,
    (id, is, most) => `Die Maschine ${id} kostet ${figure(is!)} USD/h, mehr als ${figure(most!)}.`,
  ],
  [
    /^machine (\S+) has (\d+) GB of free disk, less than the (\d+) (?:requested|of disk and volumes)$/,
    (id, left, asked) => `Die Maschine ${id} hat noch ${left} GB Speicherplatz, weniger als die ${asked} GB.`,
  ],
  [
    /^volume (\S+) is in use by instance (\S+?)(?:; stop it first)?$/,
    (id, by) => `Das Volume ${id} gehört gerade zur Instanz ${by}.`,
  ],
  [
    /^(?:an account (?:holds|saves|has) at most|the account (?:has|can have at most)) (\d+) (.+)$/,
    (most) => `Mehr als ${most} davon kann ein Konto nicht haben.`,
  ],
  [/^no such instance$/, () => 'Diese Instanz gibt es nicht.'],
  [
    /^secret (\S+) already exists; delete it first$/,
    (name) => `Ein Geheimnis ${name} gibt es schon; löschen Sie es zuerst.`,
  ],
  [/^there is no volume (\S+)$/, (id) => `Ein Volume ${id} gibt es nicht.`],
  [/^usd must be 5 to 100000$/, () => 'Der Betrag muss zwischen 5 und 100.000 USD liegen.'],
];

const SENTENCES: Record<string, string> = {
  forbidden: 'Dieser Schlüssel darf das nicht.',
  not_found: 'Das gibt es nicht oder nicht mehr.',
  deploy_failed: 'Das kann so nicht gemietet werden.',
  action_failed: 'Das geht so nicht.',
  payload_too_large: 'Das ist zu groß.',
  invalid_request: 'Eine Angabe stimmt nicht.',
  invalid_json: 'Die Anfrage ist nicht lesbar.',
  bad_action: 'Diese Aktion gibt es nicht.',
  method_not_allowed: 'Das ist hier nicht vorgesehen.',
  rate_limited: 'Das war zu oft in kurzer Zeit.',
  machine_unreachable: 'Die Maschine ist gerade nicht zu erreichen.',
};

/** What the service adds names the rule. */
export const before: typeof englishBefore = (code) => SENTENCES[code] ?? 'Der Dienst lehnt das ab.';
