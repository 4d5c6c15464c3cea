import type {
  texts as english,
  phases as englishPhases,
  reasons as englishReasons,
  shortReasons as englishShort,
  states as englishStates,
} from '../en/status.js';

export const states: typeof englishStates = {
  starting: 'startet',
  running: 'läuft',
  ended: 'beendet',
  stopping: 'hält an',
  stopped: 'angehalten',
  unreachable: 'nicht erreichbar',
  failed: 'fehlgeschlagen',
  destroyed: 'gelöscht',
};

export const reasons: typeof englishReasons = {
  USER: 'von Ihnen',
  PREEMPTED: 'die Maschine wurde On-Demand oder reserviert gemietet',
  BALANCE_EXHAUSTED: 'das Guthaben war aufgebraucht',
  OPERATOR: 'vom Betreiber',
  ACCOUNT_SUSPENDED: 'das Konto ist gesperrt',
  START_FAILED: 'der Container konnte nicht gestartet werden; lag es an der Maschine, werden die Kosten erstattet',
  COMMAND_ENDED: 'der Befehl wurde beendet',
  DEADLINE: 'die Frist war erreicht',
  SPEND_LIMIT: 'ein Ausgabenlimit war erreicht',
  IDLE: 'Leerlauf',
};

export const shortReasons: typeof englishShort = {
  USER: 'von Ihnen',
  PREEMPTED: 'verdrängt',
  BALANCE_EXHAUSTED: 'Guthaben aufgebraucht',
  OPERATOR: 'vom Betreiber',
  ACCOUNT_SUSPENDED: 'Konto gesperrt',
  START_FAILED: 'Start fehlgeschlagen',
  COMMAND_ENDED: 'Befehl beendet',
  DEADLINE: 'Frist erreicht',
  SPEND_LIMIT: 'Ausgabenlimit erreicht',
  IDLE: 'Leerlauf',
};

export const phases: typeof englishPhases = {
  WAITING: 'wartet auf die Maschine',
  PULLING: 'lädt das Image',
  RESTORING: 'stellt Ihre Volumes wieder her',
  STARTING: 'startet',
  RUNNING: 'Container läuft',
  STOPPING: 'wird angehalten',
  SAVING: 'sichert Ihre Volumes',
  STOPPED: 'Container angehalten',
  EXITED: 'Befehl beendet',
  FAILED: 'Container fehlgeschlagen',
  UNREACHABLE: 'Maschine nicht erreichbar',
  ERASED: 'gelöscht',
};

export const texts: typeof english = {
  doneOf: (done, all) => `${done} von ${all}`,
  exited: (phase, code) => `${phase}, Exit-Code ${code}`,
  pulled: 'Fortschritt beim Laden des Images',
  restored: 'Fortschritt beim Wiederherstellen der Volumes',
};
