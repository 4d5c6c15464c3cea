import { number } from '../../figures/number.js';
import type { texts as english } from '../en/home.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  title: 'Übersicht',
  rent: 'Maschine mieten',
  reading: 'Ihr Konto wird geladen …',
  firstSteps: 'Erste Schritte',
  done: 'erledigt',
  creditStep: 'Guthaben aufladen',
  creditWhy: 'Davon werden Mieten sekundengenau bezahlt. Darüber hinaus kostet nur behaltener Speicherplatz.',
  addCredit: 'Guthaben aufladen',
  keyStep: 'SSH-Schlüssel hinterlegen',
  keyWhy: (tool) => <>Mit dem privaten Teil kommen Sie in jede Instanz. Ein Schlüssel von {tool} ist genau richtig.</>,
  addKey: 'SSH-Schlüssel hinzufügen',
  rentStep: 'Erste Maschine mieten',
  rentWhy: 'Wählen Sie ein Modell und eine Vorlage. Sie läuft nach wenigen Sekunden und lässt sich jederzeit anhalten.',
  seeMachines: 'Maschinen ansehen',
  attention: 'Braucht Aufmerksamkeit',
  nothing: 'Nichts: Alles ist, wie es sein soll.',
  looking: 'Wird geprüft …',
  urgent: 'Dringend: ',
  note: 'Hinweis: ',
  creditOver: 'Ihr Guthaben ist aufgebraucht: Alles ist angehalten.',
  creditOverUntil: (at) => (
    <>Ihr Guthaben ist aufgebraucht: Alles ist angehalten. Ohne neues Guthaben wird es gelöscht: {at}.</>
  ),
  creditEnds: (at) => <>Ihr Guthaben reicht noch bis {at}. Was dann läuft, wird angehalten.</>,
  limitWasReached: (at) => <>Ihr Monatslimit ist seit {at} erreicht: Was lief, wurde angehalten.</>,
  limitIsReached: (at) => <>Ihr Monatslimit reicht noch bis {at}. Was dann läuft, wird angehalten.</>,
  volumeLost: (volume, name, at) => (
    <>
      Was {name} nach {at} auf das Volume {volume} geschrieben hat, ist verloren.
    </>
  ),
  volumeRefused: (volume, name, at) => (
    <>
      Das Volume {volume} von {name} konnte nicht gesichert werden. Der letzte gesicherte Stand: {at}.
    </>
  ),
  volumeUnsaved: (volume, name, at) => (
    <>
      Das Volume {volume} von {name} wurde seit {at} nicht gesichert.
    </>
  ),
  silent: (name) => <>Die Maschine von {name} meldet sich nicht. Vielleicht kommt sie von allein zurück.</>,
  failed: (name, why) => (
    <>
      Der Container von {name} ist gescheitert: {why}
    </>
  ),
  failedSilently: 'die Maschine nennt keinen Grund',
  notStarted: (name, at) => (
    <>
      {name} konnte nicht gestartet werden. Angehalten: {at}.
    </>
  ),
  preempted: (name, at) => (
    <>
      {name} ist seit {at} angehalten: Die Maschine wurde On-Demand oder reserviert gemietet.
    </>
  ),
  endedBadly: (name, at, exitCode) => (
    <>
      Der Befehl von {name} endete mit Exit-Code {exitCode}: {at}.
    </>
  ),
  stops: (name, at) => (
    <>
      {name} läuft noch bis {at} und hält dann von selbst an.
    </>
  ),
  destroyed: (name, at) => (
    <>
      {name} besteht noch bis {at} und wird dann mit allen Daten gelöscht.
    </>
  ),
  limit: (name, at) => (
    <>
      Das Ausgabenlimit von {name} reicht noch bis {at}. Dann hält sie an.
    </>
  ),
  costsStopped: (name, at, hourly) => (
    <>
      {name} ist seit {at} angehalten. Der Speicherplatz kostet {hourly} USD/h.
    </>
  ),
  changeLimit: 'Limit ändern',
  open: (name, unseen) => <>{unseen(`${name} `)}Öffnen</>,
  rented: 'Was Sie mieten',
  allInstances: (count) => plural(count, { one: 'Ihre Instanz', other: `Alle ${number(count)} Instanzen` }),
  noneRented: 'Nichts gemietet',
  noneRentedWhat: 'Hier steht, was Sie mieten, mit den Kosten auf die Sekunde genau.',
  instance: 'Instanz',
  state: 'Zustand',
  where: 'Ort',
  hourly: 'USD/h jetzt',
  cost: 'Kosten bisher, USD',
  volumes: 'Volumes',
  volumesCost: (count, sizeGb, hourly) =>
    plural(count, {
      one: `1 Volume, ${number(sizeGb)} GB, ${hourly} USD/h`,
      other: `${number(count)} Volumes, ${number(sizeGb)} GB, ${hourly} USD/h`,
    }),
  yourVolumes: 'Ihre Volumes',
};
