import type { texts as english } from '../en/deploy.js';

export const texts: typeof english = {
  machines: 'Weitere Filter',
  machineStep: 'Maschine',
  priceStep: 'Preismodell',
  takeBest: 'Stattdessen die günstigste passende wählen',
  best: 'Günstigstes Angebot',
  bestHint: 'Die günstigste passende Maschine wird beim Mieten gewählt.',
  model: 'GPU-Modell',
  anyModel: 'beliebig (günstigste Maschine)',
  modelOption: (name, price) => `${name} · ab ${price} USD/h`,
  region: 'Region',
  includeAgentless: 'Auch Maschinen ohne Host-Agenten, auf denen nichts läuft',
  with: (vramGb) => `mit ${vramGb}\u00a0GB`,
  where: (region) => `in ${region}`,
  real: (down) => `Führt Ihre Container aus · ${down} Mbit/s Download`,
  trial: 'Testmaschine: Sie führt Ihre Container aus, aber ihre GPUs sind simuliert.',
  demo: 'Demomaschine: Es startet kein Container.',
  record: 'Kein Host-Agent: Beim Mieten entsteht nur ein Eintrag, es läuft nichts.',
  hardware: (cpu, vcpus, ramGb) => `${cpu} · ${vcpus} vCPUs · ${ramGb} GB RAM`,

  advanced: 'Erweitert',
  launchStep: 'Name, Variablen, Befehl, Ports',
  asTemplate: 'Wie in der Vorlage',
  variables: (count) => (count === 1 ? '1 Variable' : `${count} Variablen`),
  secrets: (count) => (count === 1 ? '1 Secret' : `${count} Secrets`),
  ownCommand: 'eigener Befehl',
  ports: (ports) => `Ports ${ports}`,
  ownRestart: 'eigene Neustartregel',
  diskStep: 'Speicherplatz und Volumes',
  diskSummary: (diskGb, volumes) =>
    `${diskGb} GB, ${volumes === 0 ? 'keine Volumes' : volumes === 1 ? '1 Volume' : `${volumes} Volumes`}`,
  limitsStep: 'Fristen und Limit',
  noLimits: 'Läuft, bis Sie die Instanz anhalten',
  stopAt: (time) => `Anhalten: ${time}`,
  destroyAt: (time) => `Löschen: ${time}`,
  stopIdle: (minutes) => `Anhalten nach ${minutes} Minuten Leerlauf`,
  atMost: (amount) => `höchstens ${amount} USD`,
  sshStep: 'SSH-Schlüssel',
  reuseStep: 'Code, Link und Vorlage',
  reuseSummary: 'Diese Konfiguration wiederholen oder teilen',
  disk: 'Speicherplatz (GB)',
  diskOf: (freeGb) => `Speicherplatz (GB, bis ${freeGb})`,
  badDisk: 'Der Speicherplatz muss eine ganze Zahl von GB sein, mindestens 1.',
  spendLimit: 'Ausgabenlimit (USD insgesamt)',
  spendLimitHint: 'kein Limit',
  badSpendLimit: 'Das Ausgabenlimit muss ein Betrag in USD sein, zum Beispiel 25 oder 2.50.',
  limitsLegend:
    'Alle Angaben sind freiwillig. Ohne sie läuft die Instanz, bis Sie sie anhalten oder Ihr Guthaben aufgebraucht ist.',
  sshCount: (count) =>
    count === 0
      ? 'Keiner; das Terminal hier braucht keinen'
      : count === 1
        ? 'Der Schlüssel Ihres Kontos hat Zugang'
        : `Die ${count} Schlüssel Ihres Kontos haben Zugang`,
  sshManage: 'SSH-Schlüssel verwalten',
  sshSignedOut: 'Die Ihres Kontos',
  sshWhy: 'Melden Sie sich an, um die SSH-Schlüssel Ihres Kontos zu nutzen oder hier einen hinzuzufügen.',
  summary: 'Kosten',
  forGpus: 'GPUs',
  forDisk: (diskGb) => `Speicherplatz, ${diskGb} GB`,
  perDay: 'USD pro Tag',
  perHour: (price) => `${price} USD/h`,
  perSecond: 'Sekundengenau abgerechnet.',
  lasts: (balance, time, isAll, until) => (
    <>
      Ihr Guthaben von {balance} USD reicht damit{isAll && ' und mit allem anderen, was Sie mieten,'} noch {time}, bis{' '}
      {until}.
    </>
  ),
  lastsShort: (time) => `reicht ${time}`,
  needs: (amount) => `Erfordert ein Guthaben von mindestens ${amount} USD.`,
  term: (end, discount) => (
    <>
      Ende der Laufzeit bei durchgehendem Betrieb: {end}. Wenn Sie die Instanz früher löschen, zahlen Sie den Rabatt von{' '}
      {discount} USD für jede gelaufene Stunde zurück.
    </>
  ),
  preempts: (count, seconds, cost) =>
    `${
      count === 1 ? 'Verdrängt eine unterbrechbare Instanz' : `Verdrängt ${count} unterbrechbare Instanzen`
    }: Mindestens ${seconds} Sekunden GPU-Zeit werden berechnet (${cost} USD).`,
  noNext: 'Zurzeit ist keine ähnliche Maschine frei. Wählen Sie eine andere.',
  nextBest: (count, model, region, price) => `Nächstbeste: ${count} × ${model} in ${region} für ${price} USD/h`,
  takeThis: 'Diese wählen',
  addCredit: 'Guthaben aufladen',
  signIn: 'Zum Mieten anmelden',
  deploy: 'Mieten',
  deployFor: (price) => `Für ${price} USD/h mieten`,
  deploying: 'Wird gemietet …',
  nothingRented: 'Es wurde nichts gemietet',
  share: 'Link zu diesem Formular kopieren',
  shareHint:
    'Der Link enthält alles außer Variablen, Secrets, Befehl, TCP-Ports und Volumes. Um auch diese (außer Secrets) zu teilen, speichern Sie eine Vorlage.',
  linkStrong: 'Dieses Formular wurde durch einen Link ausgefüllt, und jeder kann einen solchen Link erstellen.',
  linkRest:
    'Wer ihn erstellt hat, hat Image, Variablen und Befehl gewählt. Sie laufen auf Ihr Guthaben und erhalten die Secrets, die Sie wählen: Mieten Sie nur, wenn Sie dem Link vertrauen. Gemietet wird erst, wenn Sie auf die Schaltfläche klicken.',
  leftOut: (names) => `Weggelassen, weil zu lang oder kein reiner Text: ${names}`,
  ways: 'Formate',
  way: { gpu: 'gpu', curl: 'curl', python: 'Python', graphql: 'GraphQL' },
  wayHint: {
    gpu: 'Für bash und zsh. Der Befehl liest Ihren Schlüssel aus GPU_API_KEY oder von gpu login.',
    curl: 'Für bash und zsh. Liest Ihren API-Schlüssel aus GPU_API_KEY.',
    python: 'Verwendet das Paket gpu_rental. Liest Ihren API-Schlüssel aus GPU_API_KEY.',
    graphql: 'Senden Sie es per POST mit Ihrem API-Schlüssel an /graphql, oder führen Sie es in GraphiQL aus.',
  },
  copyWay: {
    gpu: 'Befehl kopieren',
    curl: 'Befehl kopieren',
    python: 'Skript kopieren',
    graphql: 'Dokument kopieren',
  },
  noWay: 'Noch gibt es keine Maschine zum Mieten: Ersetzen Sie MACHINE durch die ID einer Maschine.',
  holdsValues: 'Enthält Ihre Eingaben, auch die Werte von Variablen.',
};
