import type {
  texts as english,
  screenKeywords as englishScreenKeywords,
  shortcuts as englishShortcuts,
  tasks as englishTasks,
} from '../en/commands.js';

export const texts: typeof english = {
  label: 'Befehlspalette',
  field: 'Was suchen Sie?',
  placeholder: 'Seiten, Instanzen, Modelle und Aktionen suchen',
  results: 'Treffer',
  nothing: 'Keine Treffer',
  tryOther: 'Keine Treffer. Versuchen Sie es mit weniger Buchstaben oder einem anderen Wort.',
  groups: { instances: 'Instanzen', screens: 'Seiten', actions: 'Aktionen', models: 'Modelle' },
  about: (count, model, state) => `${count} × ${model}, ${state}`,
  instanceKeywords: 'instanz instance',
  logOf: (instance) => `Log von ${instance}`,
  act: (action, instance) => `${instance} ${{ STOP: 'anhalten', START: 'starten', DESTROY: 'löschen' }[action]}`,
  actionKeywords: { STOP: 'anhalten stoppen stop', START: 'start', DESTROY: 'löschen zerstören destroy' },
  model: (free, price) => `${free} frei, ${price} USD pro GPU-Stunde`,
  modelKeywords: 'gb mieten rent',
  language: (name) => `Sprache: ${name}`,
  languageKeywords: 'language sprache english englisch german deutsch',

  shortcuts: 'Tastenkürzel',
  next: ' dann ',
  singleKeys: 'Tastenkürzel aus einzelnen Tasten in diesem Browser verwenden',
};

/** Found by their English names too. */
export const screenKeywords: typeof englishScreenKeywords = {
  '/': 'start home overview',
  '/machines': 'gpus angebote preise suchen mieten machines',
  '/models': 'llm sprachmodell speicher vram vllm hugging face rechner run a model',
  '/instances': 'server gemietet läuft instances',
  '/instances?show=history': 'instanzen frühere gelöscht history instances',
  '/volumes': 'disk speicher festplatte datenträger',
  '/billing': 'guthaben geld kosten ausgaben rechnung kontoauszug limit grenze money balance billing',
  '/keys': 'secrets geheimnisse api token ssh registry login keys',
  '/activity': 'protokoll audit wer hat was getan activity',
  '/notifications': 'webhooks mail e-mail meldungen notices notifications',
};

export const tasks: typeof englishTasks = {
  rent: ['Günstigste passende Maschine mieten', 'neue instanz starten deploy rent'],
  credit: ['Guthaben aufladen', 'einzahlen bezahlen geld bitcoin monero top up add credit'],
  key: ['API-Schlüssel erstellen', 'token neu anlegen create key'],
  sshKey: ['SSH-Schlüssel hinzufügen', 'öffentlicher schlüssel neu add ssh key'],
  volume: ['Volume erstellen', 'disk speicher neu anlegen create volume'],
  notifications: ['Benachrichtigungen einrichten', 'webhook mail e-mail meldung neu notice'],
  undo: ['Letzte Aktion rückgängig machen', 'zurücknehmen undo'],
  shortcuts: ['Tastenkürzel anzeigen', 'hilfe tastatur keyboard shortcuts help'],
  graphql: ['GraphQL-API erkunden', 'graphiql docs query ansehen'],
  signOut: ['Abmelden', 'ausloggen sitzung beenden sign out'],
  signIn: ['Anmelden', 'einloggen api-schlüssel konto sign in'],
};

export const shortcuts: typeof englishShortcuts = {
  sheet: 'Diese Tastenkürzel anzeigen',
  search: 'Auf dieser Seite suchen, sonst überall',
  undo: 'Letzte Aktion rückgängig machen',
  rent: 'Maschine mieten',
  home: 'Zur Übersicht',
  machines: 'Zu den Maschinen',
  instances: 'Zu den Instanzen',
  volumes: 'Zu den Volumes',
  money: 'Zur Abrechnung',
  keys: 'Zu den Schlüsseln',
  activity: 'Zur Aktivität',
  webhooks: 'Zu den Benachrichtigungen',
};
