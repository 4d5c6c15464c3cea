import type {
  texts as english,
  phases as englishPhases,
  reasons as englishReasons,
  shortReasons as englishShort,
  states as englishStates,
} from '../en/status.js';

export const states: typeof englishStates = { RUNNING: 'läuft', STOPPED: 'angehalten', DESTROYED: 'gelöscht' };

export const reasons: typeof englishReasons = {
  USER: 'von Ihnen',
  PREEMPTED: 'die Maschine wurde on demand oder reserviert gemietet',
  BALANCE_EXHAUSTED: 'das Guthaben war aufgebraucht',
  OPERATOR: 'vom Betreiber',
  ACCOUNT_SUSPENDED: 'das Konto ist gesperrt',
  START_FAILED: 'der Container konnte nicht starten; lag es an der Maschine, wird erstattet',
  COMMAND_ENDED: 'der Befehl war zu Ende',
  DEADLINE: 'die Frist war um',
  SPEND_LIMIT: 'ein Kostenlimit war erreicht',
  IDLE: 'Leerlauf',
};

export const shortReasons: typeof englishShort = {
  USER: 'von Ihnen',
  PREEMPTED: 'verdrängt',
  BALANCE_EXHAUSTED: 'Guthaben aufgebraucht',
  OPERATOR: 'vom Betreiber',
  ACCOUNT_SUSPENDED: 'Konto gesperrt',
  START_FAILED: 'nicht gestartet',
  COMMAND_ENDED: 'Befehl zu Ende',
  DEADLINE: 'Frist um',
  SPEND_LIMIT: 'Kostenlimit erreicht',
  IDLE: 'Leerlauf',
};

export const phases: typeof englishPhases = {
  WAITING: 'wartet auf die Maschine',
  PULLING: 'lädt das Image',
  RESTORING: 'holt Ihre Volumes',
  STARTING: 'startet',
  RUNNING: 'Container läuft',
  STOPPING: 'hält an',
  SAVING: 'sichert Ihre Volumes',
  STOPPED: 'Container angehalten',
  EXITED: 'Befehl zu Ende',
  FAILED: 'Container gescheitert',
  UNREACHABLE: 'Maschine meldet sich nicht',
  ERASED: 'gelöscht',
};

export const texts: typeof english = {
  progress: (phase, done, all) => `${phase}: ${done} von ${all}`,
  exited: (phase, code) => `${phase}, Exit-Code ${code}`,
  pulled: 'Image geladen',
  restored: 'Volumes geholt',
};
