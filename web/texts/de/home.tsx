import { number } from '../../figures/number.js';
import type { texts as english } from '../en/home.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  reading: 'Ihr Konto wird geladen …',
  firstSteps: 'Erste Schritte',
  done: ', erledigt',
  progress: (done, all) => `${done} von ${all} erledigt`,
  creditStep: 'Guthaben aufladen',
  creditWhy:
    'Davon bezahlen Sie Mieten sekundengenau. Mehr schulden Sie nie, außer für Speicherplatz, den Sie behalten.',
  addCredit: 'Guthaben aufladen',
  askForCredit: 'Guthaben beim Betreiber anfordern',
  askForCreditWhy: (account) => <>Der Betreiber dieses Dienstes schreibt es Ihrem Konto {account} gut.</>,
  contactForCredit: (place, account) => (
    <>
      Wenden Sie sich mit Ihrer Konto-ID an {place}: {account}
    </>
  ),
  ask: 'Guthaben anfordern',
  copyAccount: 'Konto-ID kopieren',
  keyStep: 'SSH-Schlüssel hinzufügen',
  keyWhy: (tool) => <>Der private Teil öffnet jede Instanz. Sie erstellen einen mit {tool}.</>,
  addKey: 'SSH-Schlüssel hinzufügen',
  rentStep: 'Erste Instanz mieten',
  rentWhy: 'Wählen Sie unten eine GPU oder Vorlage. Die Instanz läuft nach wenigen Sekunden.',
  attention: 'Handlungsbedarf',
  nothing: 'Alles in Ordnung',
  urgent: 'Dringend: ',
  note: 'Hinweis: ',
  creditOver: 'Ihr Guthaben ist aufgebraucht: Alles ist angehalten.',
  creditOverUntil: (at) => (
    <>Ihr Guthaben ist aufgebraucht: Alles ist angehalten. Ohne neues Guthaben wird es gelöscht: {at}.</>
  ),
  creditEnds: (at) => <>Ihr Guthaben reicht bis {at}. Dann werden laufende Instanzen angehalten.</>,
  limitWasReached: (at) => <>Ihr Monatslimit ist seit {at} erreicht: Laufende Instanzen wurden angehalten.</>,
  limitIsReached: (at) => <>Ihr Monatslimit reicht bis {at}. Dann werden laufende Instanzen angehalten.</>,
  volumeLost: (volume, name, at) => (
    <>
      Änderungen von {name} am Volume {volume} nach {at} sind verloren.
    </>
  ),
  volumeRefused: (volume, name, at) => (
    <>
      Das Volume {volume} von {name} konnte nicht gesichert werden. Letzte Sicherung: {at}.
    </>
  ),
  volumeUnsaved: (volume, name, at) => (
    <>
      Das Volume {volume} von {name} wurde seit {at} nicht gesichert.
    </>
  ),
  silent: (name) => <>Die Maschine von {name} ist nicht erreichbar. Vielleicht kommt sie von allein zurück.</>,
  failed: (name, why) => (
    <>
      Der Container von {name} ist fehlgeschlagen: {why}
    </>
  ),
  failedSilently: 'die Maschine meldet keinen Grund',
  notStarted: (name, at, why) => (
    <>
      {name} konnte nicht gestartet werden (angehalten: {at}): {why}
    </>
  ),
  preempted: (name, at) => (
    <>
      {name} wurde verdrängt ({at}): Die Maschine wurde On-Demand oder reserviert gemietet.
    </>
  ),
  endedBadly: (name, at, exitCode) => (
    <>
      Der Befehl von {name} endete mit Exit-Code {exitCode}: {at}.
    </>
  ),
  stops: (name, at) => (
    <>
      {name} wird automatisch angehalten: {at}.
    </>
  ),
  destroyed: (name, at) => (
    <>
      {name} wird automatisch mit allen Daten gelöscht: {at}.
    </>
  ),
  limit: (name, at) => (
    <>
      Das Ausgabenlimit von {name} reicht bis {at}. Dann wird die Instanz angehalten.
    </>
  ),
  costsStopped: (name, at, hourly) => (
    <>
      {name} ist seit {at} angehalten. Der Speicherplatz kostet {hourly} USD/h.
    </>
  ),
  changeLimit: 'Limit ändern',
  open: (name, hidden) => <>{hidden(`${name} `)}Öffnen</>,
  cost: 'Guthaben und Kosten',
  rented: 'Ihre Instanzen',
  allInstances: (count) => plural(count, { one: 'Details', other: `Alle ${number(count)} Instanzen` }),
  volumesCost: (count, sizeGb, hourly) =>
    plural(count, {
      one: `1 Volume, ${number(sizeGb)} GB, ${hourly} USD/h`,
      other: `${number(count)} Volumes, ${number(sizeGb)} GB, ${hourly} USD/h`,
    }),
};
