import type {
  texts as english,
  doings as englishDoings,
  screens as englishScreens,
  shortcuts as englishShortcuts,
} from '../en/commands.js';

export const texts: typeof english = {
  label: 'Suchen und ausführen',
  lookingFor: 'Was suchen Sie?',
  find: 'Seite, Instanz, Modell oder Aktion suchen',
  found: 'Gefunden',
  nothing: 'Nichts gefunden',
  tryOther: 'Nichts gefunden. Versuchen Sie weniger Buchstaben oder ein anderes Wort.',
  groups: { instances: 'Instanzen', screens: 'Seiten', do: 'Aktionen', models: 'Modelle' },
  about: (count, model, state) => `${count} × ${model}, ${state}`,
  instanceWords: 'instanz instance',
  logOf: (instance) => `Log von ${instance}`,
  act: (action, instance) => `${instance} ${{ STOP: 'anhalten', START: 'starten', DESTROY: 'löschen' }[action]}`,
  actWords: { STOP: 'anhalten stoppen stop', START: 'start', DESTROY: 'löschen zerstören destroy' },
  model: (free, price) => `${free} frei, ${price} USD pro GPU-Stunde`,
  modelWords: 'gb mieten rent',
  language: (name) => `Sprache: ${name}`,
  languageWords: 'language sprache english englisch german deutsch',

  sheet: 'Tastenkürzel',
  next: ' dann ',
  singleKeys: 'Einzelne Tasten lösen in diesem Browser etwas aus',
};

/** Found by their English names too. */
export const screens: typeof englishScreens = {
  '/': ['Start', 'übersicht home overview'],
  '/machines': ['Maschinen', 'gpus angebote preise suchen mieten machines'],
  '/instances': ['Instanzen', 'server gemietet läuft instances'],
  '/instances?show=history': ['Frühere Instanzen', 'verlauf gelöscht history instances'],
  '/volumes': ['Volumes', 'disk speicher festplatte datenträger'],
  '/money': ['Guthaben', 'geld kosten ausgaben rechnung kontoauszug limit grenze money balance'],
  '/keys': ['Schlüssel und Geheimnisse', 'api token ssh registry login keys secrets'],
  '/activity': ['Aktivität', 'protokoll audit wer hat was getan activity'],
  '/webhooks': ['Benachrichtigungen', 'webhooks mail meldungen notices'],
};

export const doings: typeof englishDoings = {
  rent: ['Beste passende Maschine mieten', 'neue instanz starten deploy rent'],
  credit: ['Guthaben aufladen', 'einzahlen bezahlen geld bitcoin monero top up add credit'],
  key: ['API-Schlüssel anlegen', 'token neu erstellen create key'],
  sshKey: ['SSH-Schlüssel hinzufügen', 'öffentlicher schlüssel neu add ssh key'],
  volume: ['Volume anlegen', 'disk speicher neu erstellen create volume'],
  notice: ['Benachrichtigung einrichten', 'webhook mail meldung neu notice'],
  undo: ['Letzte Aktion rückgängig machen', 'zurücknehmen undo'],
  shortcuts: ['Tastenkürzel zeigen', 'hilfe tastatur keyboard shortcuts help'],
  graphql: ['GraphQL-API ansehen', 'graphiql docs query'],
  signOut: ['Abmelden', 'ausloggen sitzung beenden sign out'],
  signIn: ['Anmelden', 'einloggen api-schlüssel konto sign in'],
};

export const shortcuts: typeof englishShortcuts = {
  sheet: 'Diese Tastenkürzel zeigen',
  search: 'Auf dieser Seite suchen, sonst überall',
  undo: 'Letzte Aktion rückgängig machen',
  rent: 'Eine Maschine mieten',
  home: 'Zum Start',
  machines: 'Zu den Maschinen',
  instances: 'Zu den Instanzen',
  volumes: 'Zu den Volumes',
  money: 'Zum Guthaben',
  keys: 'Zu den Schlüsseln',
  activity: 'Zur Aktivität',
  webhooks: 'Zu den Webhooks',
};
