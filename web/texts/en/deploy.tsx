import type { ComponentChildren } from 'preact';

export const texts = {
  machines: 'More filters',
  machineStep: 'Machine',
  priceStep: 'Pricing',
  takeBest: 'Use the cheapest match instead',
  best: 'Cheapest match',
  bestHint: 'The cheapest match is chosen when you deploy.',
  model: 'GPU model',
  anyModel: 'any (cheapest machine)',
  modelOption: (name: string, price: string) => `${name} · from ${price} USD/h`,
  region: 'Region',
  includeAgentless: 'Include machines without a host agent, which run nothing',
  with: (vramGb: string) => `with ${vramGb}\u00a0GB`,
  where: (region: string) => `in ${region}`,
  real: (down: string) => `Runs your containers · ${down} Mbit/s down`,
  trial: 'Trial machine: it runs your containers, but its GPUs are simulated.',
  demo: 'Demo machine: no container is started.',
  record: 'No host agent: deploying creates a record, but runs nothing.',
  hardware: (cpu: string, vcpus: number, ramGb: number) => `${cpu} · ${vcpus} vCPUs · ${ramGb} GB RAM`,

  // The folded sections, and what is set in them.
  advanced: 'Advanced',
  launchStep: 'Name, variables, command, ports',
  asTemplate: 'As in the template',
  variables: (count: number) => (count === 1 ? '1 variable' : `${count} variables`),
  secrets: (count: number) => (count === 1 ? '1 secret' : `${count} secrets`),
  ownCommand: 'custom command',
  ports: (ports: string) => `ports ${ports}`,
  ownRestart: 'custom restart',
  diskStep: 'Disk and volumes',
  diskSummary: (diskGb: number, volumes: number) =>
    `${diskGb} GB, ${volumes === 0 ? 'no volumes' : volumes === 1 ? '1 volume' : `${volumes} volumes`}`,
  limitsStep: 'Deadlines and limit',
  noLimits: 'Runs until you stop it',
  stopAt: (time: string) => `stops: ${time}`,
  destroyAt: (time: string) => `destroyed: ${time}`,
  stopIdle: (minutes: string) => `stops after ${minutes} idle minutes`,
  atMost: (amount: string) => `at most ${amount} USD`,
  sshStep: 'SSH key',
  reuseStep: 'Code, link and template',
  reuseSummary: 'Repeat or share this deployment',
  disk: 'Disk (GB)',
  diskOf: (freeGb: string) => `Disk (GB, up to ${freeGb})`,
  badDisk: 'Disk must be a whole number of GB, at least 1.',
  spendLimit: 'Spend limit (USD in total)',
  spendLimitHint: 'no limit',
  badSpendLimit: 'Spend limit must be an amount in USD, such as 25 or 2.50.',
  limitsLegend: 'All optional. Otherwise the instance runs until you stop it or your credit runs out.',
  sshCount: (count: number) =>
    count === 0
      ? 'None; the terminal here needs none'
      : count === 1
        ? 'Your account’s key has access'
        : `Your account’s ${count} keys have access`,
  sshManage: 'Manage SSH keys',
  sshSignedOut: 'Those of your account',
  sshWhy: 'Sign in to use your account’s SSH keys or add one here.',
  summary: 'Cost',
  forGpus: 'GPUs',
  forDisk: (diskGb: number) => `Disk, ${diskGb} GB`,
  perDay: 'USD per day',
  perHour: (price: string) => `${price} USD/h`,
  perSecond: 'Billed per second.',
  lasts: (balance: string, time: string, isAll: boolean, until: ComponentChildren) => (
    <>
      With this{isAll && ' and everything else you run'}, your balance of {balance} USD lasts {time}, until {until}.
    </>
  ),
  lastsShort: (time: string) => `credit for ${time}`,
  needs: (amount: string) => `Requires a balance of at least ${amount} USD.`,
  term: (end: ComponentChildren, discount: string) => (
    <>
      If it never stops, the term ends {end}. Destroying it earlier costs {discount} USD (the discount) for each hour
      that it ran.
    </>
  ),
  preempts: (count: number, seconds: number, cost: string) =>
    `${
      count === 1 ? 'Preempts an interruptible instance' : `Preempts ${count} interruptible instances`
    }: at least ${seconds} seconds of GPU time are billed (${cost} USD).`,
  noNext: 'No similar machine is free right now. Choose a different one.',
  nextBest: (count: number, model: string, region: string, price: string) =>
    `Next best: ${count} × ${model} in ${region} for ${price} USD/h`,
  takeThis: 'Choose this one',
  addCredit: 'Add credit',
  signIn: 'Sign in to deploy',
  deploy: 'Deploy',
  deployFor: (price: string) => `Deploy for ${price} USD/h`,
  deploying: 'Deploying …',
  nothingRented: 'nothing was deployed',
  share: 'Copy link to this form',
  shareHint:
    'The link contains everything except variables, secrets, command, TCP ports and volumes. To share these too (except secrets), save a template.',
  linkStrong: 'A link filled in this form, and anyone can create such a link.',
  linkRest:
    'Its author chose the image, variables and command. They run on your credit and receive the secrets that you choose: deploy only if you trust the link. Nothing is deployed until you press the button.',
  leftOut: (names: string) => `Left out because it is too long or not plain text: ${names}`,
  ways: 'Formats',
  way: { gpu: 'gpu', curl: 'curl', python: 'Python', graphql: 'GraphQL' },
  wayHint: {
    gpu: 'For bash and zsh. The command reads your key from GPU_API_KEY or from gpu login.',
    curl: 'For bash and zsh. Reads your API key from GPU_API_KEY.',
    python: 'Uses the gpu_rental package. Reads your API key from GPU_API_KEY.',
    graphql: 'Send it in a POST request to /graphql with your API key, or run it in GraphiQL.',
  },
  copyWay: {
    gpu: 'Copy command',
    curl: 'Copy command',
    python: 'Copy script',
    graphql: 'Copy document',
  },
  noWay: 'There is no machine to deploy yet: replace MACHINE with a machine id.',
  holdsValues: 'Contains what you entered, including variable values.',
};
