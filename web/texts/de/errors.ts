import { GROUP, POINT } from '../../figures/number.js';
import type {
  texts as english,
  introduction as englishIntroduction,
  replacements as englishReplacements,
  translations as englishTranslations,
} from '../en/errors.js';

export const texts: typeof english = {
  lostWrite:
    'Der Dienst antwortet nicht. Ob Ihre Anfrage ausgeführt wurde, ist noch offen; die Seite zeigt das Ergebnis, sobald die Verbindung wieder besteht.',
  lostRead: 'Der Dienst antwortet nicht. Die Seite versucht es automatisch erneut.',
  broken: 'Auf dieser Seite ist ein Fehler aufgetreten. Laden Sie sie neu.',
  tooOften: 'Dieses Konto hat innerhalb einer Minute zu viele Anfragen gesendet.',
  sessionOver:
    'Sie sind abgemeldet: Der Schlüssel dieser Sitzung gilt nicht mehr, oder die Sitzung ist 12 Stunden alt.',
  tryAgain: (seconds) =>
    seconds === 0 ? ' Versuchen Sie es jetzt erneut.' : ` Versuchen Sie es in ${seconds} s erneut.`,
  notArrived: (nothing) =>
    `Die Anfrage hat den Dienst nicht erreicht: ${nothing}. Klicken Sie auf die Schaltfläche, um sie erneut zu senden.`,
};

export const replacements: typeof englishReplacements = {
  unauthorized: 'Sie sind abgemeldet: Der Schlüssel gilt nicht oder nicht mehr.',
  idempotency_in_progress: 'Ihre erste Anfrage wird noch bearbeitet. Sehen Sie gleich bei Ihren Instanzen nach.',
  idempotency_mismatch:
    'Eine frühere Anfrage aus diesem Dialog wurde ausgeführt, aber die Antwort ging verloren. Sehen Sie bei Ihren Instanzen nach, bevor Sie erneut mieten.',
  unavailable: 'Der Dienst ist überlastet oder startet neu. Versuchen Sie es gleich noch einmal.',
  internal: 'Im Dienst ist ein Fehler aufgetreten; es lag nicht an Ihnen. Versuchen Sie es gleich noch einmal.',
  no_route: 'Diese Adresse gibt es nicht.',
  missing_machine: 'Es ist keine Maschine gewählt.',
};

/** The service writes "1,234.50". */
const figure = (text: string): string => text.replace(/[,.]/g, (separator) => (separator === ',' ? GROUP : POINT));

export const translations: typeof englishTranslations = [
  [
    /^balance too low: ([-\d.,]+) USD does not cover (\S+ \w+) for all instances, which costs ([\d.,]+) USD$/,
    (has, span, needs) =>
      `Ihr Guthaben von ${figure(has!)} USD reicht nicht: Für ${figure(span!)} aller Instanzen sind ${figure(needs!)} USD nötig.`,
  ],
  [/^machine (\S+) is taken$/, (id) => `Die Maschine ${id} ist inzwischen vergeben.`],
  [/^machine (\S+) is (?:offline|unreachable)$/, (id) => `Die Maschine ${id} ist nicht erreichbar.`],
  [/^machine (\S+) is no longer listed$/, (id) => `Die Maschine ${id} wird nicht mehr angeboten.`],
  [/^machine (\S+) is not on offer$/, (id) => `Eine Maschine ${id} wird nicht angeboten.`],
  [
    /^machine (\S+) costs ([\d.,]+) USD per hour, more than the maximum of ([\d.,]+)$/,
    (id, is, most) =>
      `Die Maschine ${id} kostet ${figure(is!)} USD/h, mehr als das Maximum von ${figure(most!)} USD/h.`,
  ],
  [
    /^machine (\S+) has (\d+) GB of free disk, less than the (\d+) (?:requested|of disk and volumes)$/,
    (id, left, needed) =>
      `Die Maschine ${id} hat noch ${left} GB Speicherplatz, weniger als die benötigten ${needed} GB.`,
  ],
  [
    /^volume (\S+) is in use by instance (\S+?)(?:; stop it first)?$/,
    (id, by) => `Das Volume ${id} wird gerade von der Instanz ${by} genutzt.`,
  ],
  [
    /^(?:an account (?:holds|saves|has) at most|the account (?:has|can have at most)) (\d+) (.+)$/,
    (most) => `Mehr als ${most} davon kann ein Konto nicht haben.`,
  ],
  [/^no such instance$/, () => 'Diese Instanz gibt es nicht.'],
  [
    /^secret (\S+) already exists; delete it first$/,
    (name) => `Ein Secret namens ${name} gibt es schon; löschen Sie es zuerst.`,
  ],
  [
    /^this service can't store secrets or sign documents: its operator has not set SECRETS_KEY$/,
    () =>
      'Dieser Dienst kann weder Secrets speichern noch Dokumente signieren: Der Betreiber hat SECRETS_KEY nicht gesetzt.',
  ],
  [
    /^the chain of the account's older entries isn't complete yet; retry later$/,
    () => 'Die älteren Buchungen dieses Kontos werden noch verkettet. Versuchen Sie es in einer Minute erneut.',
  ],
  [
    /^(?:name|reference) must be a string of (\d+) to (\d+) characters$/,
    (least, most) => `Der Text muss aus ${least} bis ${most} Zeichen bestehen, ohne Steuerzeichen.`,
  ],
  [/^no such volume: (\S+)$/, (id) => `Ein Volume ${id} gibt es nicht.`],
  [
    /^month must be from (\S+) to (\S+); got .*$/,
    (from, to) =>
      from === to
        ? `Dieses Konto hat nur einen Kontoauszug für ${from}.`
        : `Der Monat muss zwischen ${from} und ${to} liegen.`,
  ],
  [
    /^the statement of (\S+) has more than (\d+) lines; only the operator can issue it$/,
    (month, lines) =>
      `Der Kontoauszug für ${month} hat mehr als ${lines} Zeilen; nur der Betreiber kann ihn ausstellen.`,
  ],
  [
    /^the statement has more than (\d+) lines; choose a shorter period$/,
    (lines) => `Der Kontoauszug hat mehr als ${lines} Zeilen; wählen Sie einen kürzeren Zeitraum.`,
  ],
  [
    /^address must be at most (\d+) characters in at most (\d+) lines\b/,
    (characters, lines) => `Die Anschrift darf höchstens ${characters} Zeichen und ${lines} Zeilen haben.`,
  ],
  [/^there is no public model (\S+)$/, (model) => `Ein öffentliches Modell ${model} gibt es nicht.`],
  [/^the model (\S+) has no config\.json$/, (model) => `Das Modell ${model} hat keine config.json.`],
  [
    /^the config\.json of (\S+) is shown by the hub only to accounts that accepted its terms; paste it as config$/,
    (model) =>
      `Der Hub zeigt die config.json von ${model} nur Konten, die seine Bedingungen akzeptiert haben. Fügen Sie sie unten ein.`,
  ],
  [
    /^model must be a name such as (\S+), or its URL at (\S+)$/,
    (example, host) => `Das Modell muss ein Name wie ${example} oder eine URL bei ${host} sein.`,
  ],
  [/^config must be JSON$/, () => 'Die config.json muss JSON sein.'],
  [
    /^contextLength must be a whole number from 1 to (\d+), the model's maximum$/,
    (most) => `Der Kontext darf höchstens ${most} Tokens haben, das Maximum des Modells.`,
  ],
  [
    /^the API key has (\d+) passkeys, the maximum\b/,
    (count) =>
      `Dieser API-Schlüssel hat schon ${count} Passkeys, mehr sind nicht möglich. Widerrufen Sie zuerst einen.`,
  ],
  [/^usd must be between 5 and 100000$/, () => 'Der Betrag muss zwischen 5 und 100.000 USD liegen.'],
];

const INTRODUCTIONS: Record<string, string> = {
  forbidden: 'Dieser Schlüssel ist dazu nicht berechtigt.',
  not_found: 'Das gibt es nicht oder nicht mehr.',
  deploy_failed: 'So ist die Miete nicht möglich.',
  action_failed: 'Diese Aktion ist zurzeit nicht möglich.',
  payload_too_large: 'Die Anfrage ist zu groß.',
  invalid_request: 'Eine Angabe ist ungültig.',
  invalid_json: 'Die Anfrage ist nicht lesbar.',
  bad_action: 'Diese Aktion gibt es nicht.',
  method_not_allowed: 'Das ist hier nicht vorgesehen.',
  rate_limited: 'Zu viele Anfragen in kurzer Zeit.',
  machine_unreachable: 'Die Maschine ist zurzeit nicht erreichbar.',
};

export const introduction: typeof englishIntroduction = (code) =>
  INTRODUCTIONS[code] ?? 'Der Dienst hat die Anfrage abgelehnt.';
