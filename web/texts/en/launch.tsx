export const texts = {
  // The gallery.
  template: 'Template',
  showAll: (count: number) => `Show all ${count}`,
  fewer: 'Show fewer',
  yours: (about: string) => `Yours · ${about}`,
  /** A category of the service’s own templates. Operators may have others. */
  category: (name: string) => name,
  /** A title or description of the service’s own templates. Operators may have changed it. */
  ofCatalogue: (text: string) => text,
  modelToRun: 'A language model of your choice?',
  about: (description: string, vramGb: number | null) =>
    vramGb === null ? description : `${description} · needs ${vramGb} GB of VRAM`,
  ownImage: 'Custom image',
  anyRegistry: 'Any registry',
  image: 'Image',
  imageHint: 'ghcr.io/you/train:1.2',
  commandHint: 'python train.py --epochs 3',
  variableHint: 'MODEL',
  templateNameHint: 'my-training',
  pathHint: '/data',
  savedAs: (template: string) =>
    `${template}, as you saved it. Anyone with its link can open this form, without your secrets.`,
  copyLink: (name: string) => `Copy link to ${name}`,
  deleteOne: (name: string) => `Delete ${name}`,
  isDeleted: (name: string) => `Template ${name} deleted.`,
  restored: (name: string) => `Template ${name} restored.`,

  // A template's variables.
  templateSettings: 'Template settings',
  variable: (name: string, isNeeded: boolean, description: string) =>
    `${name}${isNeeded ? ' (required)' : ''}: ${description}`,
  generated: 'generated for this instance',
  chooseSecret: 'Choose a secret …',
  none: 'none',
  createSecretFor: (name: string) => `Create secret for ${name} …`,

  // Launch options.
  name: 'Name',
  itsId: 'the instance’s ID',
  command: 'Command (replaces the template’s)',
  entrypoint: 'Entrypoint (replaces the image’s)',
  user: 'User (replaces the image’s)',
  userHint: 'root, a name or a number',
  restart: 'Restart when the command ends',
  onExit: 'If not restarted',
  restarts: { ALWAYS: 'always', ON_FAILURE: 'if its exit code isn’t 0', NEVER: 'never' },
  exits: { KEEP: 'keep the instance', STOP: 'stop the instance', DESTROY: 'destroy the instance' },
  variables: 'Variables',
  oneVariable: 'variable',
  nameOf: (label: string) => `Name ${label}`,
  valueOf: (label: string) => `Value ${label}`,
  numberOf: (label: string) => `Number ${label}`,
  webPorts: 'Web ports (in addition to the template’s)',
  onePort: 'port',
  tcpPorts: 'TCP ports (open to anyone)',
  oneTcpPort: 'TCP port',
  secrets: 'Secrets',
  oneSecret: 'secret',
  secretOf: (label: string) => `Secret ${label}`,
  placeOf: (label: string) => `Place ${label}`,
  choose: 'Choose …',
  asVariable: 'as variable',
  asFile: 'as file /run/secrets/',
  createSecret: 'Create secret …',
  signInForSecrets: 'Sign in to use your secrets.',
  login: 'Registry login for the image',
  noLogin: 'none: the image is public',

  // Volumes.
  volumes: 'Volumes (their files outlive the instance)',
  oneVolume: 'volume',
  volumeOf: (label: string) => `Volume ${label}`,
  pathOf: (label: string) => `Path ${label}`,
  volume: (name: string, sizeGb: number, holder: string | null) =>
    `${name}, ${sizeGb} GB${holder === null ? '' : ` (in use by ${holder})`}`,

  // Errors.
  openQuote: 'Command has an unclosed quote.',
  badPort: 'Ports must be whole numbers from 1 to 65535.',
  twice: (variable: string) => `The variable ${variable} is set twice.`,

  // Saving as a template.
  saveAs: 'Save as your own template, named',
  save: 'Save',
  isSaved: (name: string) => `Saved as ${name}`,

  // An instance's launch.
  launched: 'Workload',
  again: 'Deploy again',
  shownEntrypoint: 'Entrypoint',
  shownCommand: 'Command',
  ports: 'Ports',
  port: (port: number, name: string) => `${port} (${name})`,
  shownTcpPorts: 'TCP ports',
  pulledWith: 'Registry login',
  shownUser: 'User',
  whenItEnds: 'When the command ends',
  restartElse: (restart: string, exit: string) => `restart ${restart}, otherwise ${exit}`,
  theSecret: (name: string) => `secret ${name}`,
};
