import type { texts as english } from '../en/deploy.js';

export const texts: typeof english = {
  title: 'Mieten',
  rentOne: (what) => `${what} mieten`,
  rentBest: (what) => `Beste passende mieten: ${what}`,
  aMachine: 'eine Maschine',
  machines: 'Alle Maschinen',
  machineStep: 'Maschine',
  templateStep: 'Was darauf läuft',
  diskStep: 'Speicherplatz und Volumes',
  launchStep: 'Start',
  priceStep: 'Preismodell',
  limitsStep: 'Wann sie endet',
  sshStep: 'SSH-Schlüssel',
  codeStep: 'Dasselbe ohne diese Seite',
  takeBest: 'Stattdessen die beste passende Maschine nehmen',
  best: 'Sie bekommen die günstigste passende Maschine in dem Moment, in dem Sie den Knopf drücken. Maschinen, die Container ausführen, gehen vor.',
  model: 'GPU-Modell',
  anyModel: 'beliebig: die günstigste Maschine',
  modelOption: (name, free, price) => `${name}, ${free} frei, ab ${price} USD/h`,
  region: 'Region',
  moreRequirements: 'Weitere Anforderungen und alle Maschinen',
  where: (id, region) => (
    <>
      {id} in {region}
    </>
  ),
  trial: 'Eine Maschine zur Probe: Sie führt Ihre Container aus, aber ihre GPUs sind simuliert.',
  demo: 'Eine erfundene Maschine zur Vorführung: Sie zu mieten legt einen Eintrag an, und nichts läuft.',
  record: 'Diese Maschine hat keinen Host-Agent: Sie zu mieten legt einen Eintrag an, und nichts läuft.',
  hardware: (cpu, vcpus, ramGb, down) => `${cpu}, ${vcpus} vCPUs, ${ramGb} GB RAM, ${down} Mbit/s Empfang`,
  disk: 'Speicherplatz, GB',
  diskOf: (freeGb) => `Speicherplatz, GB (die Maschine hat noch ${freeGb})`,
  badDisk: 'Der Speicherplatz ist eine ganze Zahl von GB, ab 1.',
  spendLimit: 'Anhalten, sobald sie insgesamt so viele USD gekostet hat',
  spendLimitHint: 'kein Limit',
  badSpendLimit: 'Das Ausgabenlimit ist ein Betrag in USD, etwa 25 oder 2.50.',
  limitsLegend: 'Nichts davon ist nötig: Sie läuft, bis Sie sie anhalten oder Ihr Guthaben endet.',
  sshCount: (count) =>
    count === 1
      ? 'Der SSH-Schlüssel Ihres Kontos hat Zugang.'
      : `Die ${count} SSH-Schlüssel Ihres Kontos haben Zugang.`,
  sshManage: 'SSH-Schlüssel verwalten',
  sshSignedOut: 'Melden Sie sich an, um die SSH-Schlüssel Ihres Kontos zu nutzen oder hier einen hinzuzufügen.',
  summary: 'Kosten',
  forGpus: 'GPUs',
  forDisk: 'Speicherplatz',
  aDay: 'Pro Tag',
  perHour: (price) => `${price} USD/h`,
  usd: (amount) => `${amount} USD`,
  total: (price) => `${price} USD pro Stunde`,
  perSecond: 'Sekundengenau abgerechnet.',
  lasts: (balance, time, isAll, until) => (
    <>
      Ihr Guthaben von {balance} USD reicht damit{isAll && ' und mit allem anderen, was Sie mieten,'} noch {time}, bis{' '}
      {until}.
    </>
  ),
  lastsShort: (time) => `Guthaben für ${time}`,
  needs: (amount) => `Nötig ist ein Guthaben von mindestens ${amount} USD.`,
  term: (end, discount) => (
    <>
      Die Laufzeit endet {end}, wenn sie nie angehalten wird. Wer sie früher löscht, zahlt den Rabatt von {discount} USD
      für jede gelaufene Stunde zurück.
    </>
  ),
  preempts: (count, seconds, cost) =>
    `${
      count === 1
        ? 'Dafür wird eine unterbrechbare Instanz angehalten'
        : `Dafür werden ${count} unterbrechbare Instanzen angehalten`
    }: Mindestens ${seconds} Sekunden GPU werden berechnet (${cost} USD).`,
  noNext: 'Gerade ist keine gleiche Maschine frei. Wählen Sie eine andere.',
  nextBest: (count, model, region, price) => `Nächstbeste: ${count} × ${model} in ${region} für ${price} USD/h`,
  takeThis: 'Diese nehmen',
  addCredit: 'Guthaben aufladen',
  signIn: 'Zum Mieten anmelden',
  deploy: 'Mieten',
  deployFor: (price) => `Für ${price} USD/h mieten`,
  renting: 'Wird gemietet …',
  nothingRented: 'Es wurde nichts gemietet',
  share: 'Link zu diesem Formular kopieren',
  shareHint:
    'Er enthält alles außer Variablen, Geheimnissen, Befehl, TCP-Ports und Volumes. Speichern Sie eine Vorlage, um auch diese zu teilen, ohne Geheimnisse.',
  linkStrong: 'Ein Link hat dieses Formular ausgefüllt, und jeder kann so einen Link schreiben.',
  linkRest:
    'Wer ihn schrieb, hat Image, Variablen und Befehl gewählt. Es läuft mit Ihrem Guthaben und bekommt die Geheimnisse, die Sie wählen: Mieten Sie nur, wenn Sie dem Link vertrauen. Gemietet wird erst, wenn Sie den Knopf drücken.',
  leftOut: (names) => `Weggelassen, weil zu lang oder kein einfacher Text: ${names}`,
  ways: 'Wege, dasselbe zu mieten',
  way: { gpu: 'gpu', curl: 'curl', python: 'Python', graphql: 'GraphQL' },
  wayHint: {
    gpu: 'Für bash und zsh. Der Befehl liest Ihren Schlüssel aus GPU_API_KEY oder von gpu login.',
    curl: 'Für bash und zsh. Ihr API-Schlüssel steht in GPU_API_KEY.',
    python: 'Mit dem Paket gpu_rental. Ihr API-Schlüssel steht in GPU_API_KEY.',
    graphql: 'Ein POST an /graphql mit Ihrem API-Schlüssel, oder in GraphiQL.',
  },
  copyWay: {
    gpu: 'Befehl kopieren',
    curl: 'Befehl kopieren',
    python: 'Skript kopieren',
    graphql: 'Dokument kopieren',
  },
  noWay: 'Noch ist keine Maschine gewählt: MACHINE steht, wo ihre ID stehen würde.',
  holdsValues: 'Es enthält, was Sie eingegeben haben, auch die Werte von Variablen.',
};
