export const texts = {
  // The gallery.
  template: 'Template',
  yours: (about: string) => `Yours · ${about}`,
  /** Of the service's own templates; an operator may have others. */
  category: (name: string) => name,
  ofCategory: (category: string, vramGb: number) => `${category} · ${vramGb} GB`,
  ownImage: 'An image of your own',
  anyRegistry: 'Any registry',
  image: 'Image',
  imageHint: 'ghcr.io/you/train:1.2',
  commandHint: 'python train.py --epochs 3',
  variableHint: 'MODEL',
  templateNameHint: 'my-training',
  pathHint: '/data',
  savedAs: (template: string) => `${template}, as you saved it. Its link opens this form for anybody, without secrets.`,
  copyLink: (name: string) => `Copy the link of ${name}`,
  deleteOne: (name: string) => `Delete ${name}`,
  isDeleted: (name: string) => `Your template ${name} is deleted.`,
  isBack: (name: string) => `Your template ${name} is back.`,

  // Variables of a template.
  needsToKnow: 'What it needs to know',
  variable: (name: string, isNeeded: boolean, description: string) =>
    `${name}${isNeeded ? ' (needed)' : ''}: ${description}`,
  made: 'made for this instance',
  chooseSecret: 'choose a secret …',
  none: 'none',
  makeSecretFor: (name: string) => `Make a secret for ${name} …`,

  // What runs beside it.
  fields: 'Name, variables, secrets, command, ports',
  name: 'Name',
  itsId: 'its id',
  command: "Command, instead of the template's",
  entrypoint: "Entrypoint, instead of the image's",
  startAgain: 'When the command ends, start it again',
  andThen: 'And then',
  restarts: { ALWAYS: 'always', ON_FAILURE: 'when its exit code is not 0', NEVER: 'never' },
  exits: { KEEP: 'keep the instance', STOP: 'stop it', DESTROY: 'destroy it' },
  variables: 'Variables',
  oneVariable: 'variable',
  nameOf: (label: string) => `Name ${label}`,
  valueOf: (label: string) => `Value ${label}`,
  numberOf: (label: string) => `Number ${label}`,
  webPorts: "Web ports, after the template's",
  onePort: 'port',
  tcpPorts: 'TCP ports, which anybody may reach',
  oneTcpPort: 'TCP port',
  secrets: 'Secrets',
  oneSecret: 'secret',
  secretOf: (label: string) => `Secret ${label}`,
  placeOf: (label: string) => `Place ${label}`,
  choose: 'choose …',
  asVariable: 'as the variable',
  asFile: 'as the file /run/secrets/',
  makeSecret: 'Make a new secret …',
  signInForSecrets: 'Sign in to use your secrets.',
  login: 'Login that the image is pulled with',
  noLogin: 'none: the image is public',

  // Volumes.
  volumes: 'Volumes, whose files outlive the instance',
  oneVolume: 'volume',
  volumeOf: (label: string) => `Volume ${label}`,
  pathOf: (label: string) => `Path ${label}`,
  volume: (name: string, sizeGb: number, holder: string | null) =>
    `${name}, ${sizeGb} GB${holder === null ? '' : ` (${holder} has it)`}`,

  // What is wrong with it.
  openQuote: 'A quote in the command is not closed.',
  badPort: 'A port is a whole number from 1 to 65535.',
  twice: (variable: string) => `The variable ${variable} is there twice.`,

  // Kept under a name.
  saveAs: 'Save as a template of your own',
  templateName: 'Name of the template',
  save: 'Save it',
  isSaved: (name: string) => `Saved as ${name}`,

  // What an instance was launched with.
  launched: 'What it runs',
  again: 'Deploy this again',
  shownEntrypoint: 'Entrypoint',
  shownCommand: 'Command',
  ports: 'Ports',
  port: (port: number, name: string) => `${port} (${name})`,
  shownTcpPorts: 'TCP ports',
  pulledWith: 'Pulled with',
  whenItEnds: 'When its command ends',
  restartElse: (restart: string, exit: string) => `start it again ${restart}, else ${exit}`,
  theSecret: (name: string) => `the secret ${name}`,
};
