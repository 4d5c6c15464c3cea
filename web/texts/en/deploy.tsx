import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Deploy',
  rentOne: (what: string) => `Rent ${what}`,
  rentBest: (what: string) => `Rent the best that fits: ${what}`,
  aMachine: 'a machine',
  machines: 'All machines',
  machineStep: 'Machine',
  templateStep: 'What it runs',
  diskStep: 'Disk and volumes',
  launchStep: 'Launch',
  priceStep: 'How it is priced',
  limitsStep: 'When it ends',
  sshStep: 'SSH key',
  codeStep: 'The same without this page',
  takeBest: 'Take the best machine that fits my requirements instead',
  best: 'You get the cheapest machine that fits when you press the button. Machines that run containers come first.',
  model: 'GPU model',
  anyModel: 'any: the machine with the lowest price',
  modelOption: (name: string, free: number, price: string) => `${name}, ${free} free, from ${price} USD/h`,
  region: 'Region',
  moreRequirements: 'More requirements, and each machine',
  where: (id: ComponentChildren, region: string) => (
    <>
      {id} in {region}
    </>
  ),
  trial: 'A trial machine: it runs your containers, but its GPUs are simulated.',
  demo: 'A made-up machine for demonstration: renting it creates a record, and nothing runs.',
  record: 'This machine has no host agent: renting it creates a record, and nothing runs.',
  hardware: (cpu: string, vcpus: number, ramGb: number, down: string) =>
    `${cpu}, ${vcpus} vCPUs, ${ramGb} GB of memory, ${down} Mbit/s in`,
  disk: 'Disk, GB',
  diskOf: (freeGb: string) => `Disk, GB (the machine has ${freeGb} left)`,
  badDisk: 'The disk is a whole number of GB, from 1.',
  spendLimit: 'Stop it once it has cost, USD in all',
  spendLimitHint: 'no limit',
  badSpendLimit: 'What it may cost is an amount in USD, such as 25 or 2.50.',
  limitsLegend: 'Nothing of this has to be filled in: it runs until you stop it, or your credit ends.',
  sshCount: (count: number) =>
    count === 1 ? 'The SSH key of your account gets in.' : `The ${count} SSH keys of your account get in.`,
  sshManage: 'Manage SSH keys',
  sshSignedOut: 'Sign in to use the SSH keys of your account, or to add one here.',
  summary: 'What it costs',
  forGpus: 'GPUs',
  forDisk: 'Disk',
  aDay: 'A day',
  perHour: (price: string) => `${price} USD/h`,
  usd: (amount: string) => `${amount} USD`,
  total: (price: string) => `${price} USD per hour`,
  perSecond: 'Billed per second.',
  lasts: (balance: string, time: string, isAll: boolean, until: ComponentChildren) => (
    <>
      Your balance of {balance} USD lasts {time} with it{isAll && ' and all else that you rent'}, until {until}.
    </>
  ),
  lastsShort: (time: string) => `credit for ${time}`,
  needs: (amount: string) => `It needs a balance of ${amount} USD at least.`,
  term: (end: ComponentChildren, discount: string) => (
    <>
      The term ends {end} if it never stops. Destroying it sooner costs the discount of {discount} USD for each hour
      that it ran.
    </>
  ),
  preempts: (count: number, seconds: number, cost: string) =>
    `${
      count === 1
        ? 'An interruptible instance is stopped for it'
        : `${count} interruptible instances are stopped for it`
    }: ${seconds} seconds of GPU are billed at least (${cost} USD).`,
  noNext: 'No machine like it is free now. Ask for something else.',
  nextBest: (count: number, model: string, region: string, price: string) =>
    `Next best: ${count} × ${model} in ${region} for ${price} USD/h`,
  takeThis: 'Take this one',
  addCredit: 'Add credit',
  signIn: 'Sign in to rent it',
  deploy: 'Deploy',
  deployFor: (price: string) => `Deploy for ${price} USD/h`,
  renting: 'Renting …',
  nothingRented: 'nothing was rented',
  share: 'Copy the link to this form',
  shareHint:
    'It holds all but variables, secrets, the command, TCP ports and volumes. Save it as a template to share these but the secrets.',
  linkStrong: 'A link filled in this form, and anybody can write one.',
  linkRest:
    'Whoever wrote it chose the image, the variables and the command. It runs with your credit and gets the secrets that you choose: rent it only if you trust it. Nothing is rented until you press the button.',
  leftOut: (names: string) => `Left out, since it is too long or not plain text: ${names}`,
  ways: 'Ways to rent the same',
  way: { gpu: 'gpu', curl: 'curl', python: 'Python', graphql: 'GraphQL' },
  wayHint: {
    gpu: 'For bash and zsh. The command reads your key from GPU_API_KEY, or from gpu login.',
    curl: 'For bash and zsh. Your API key is in GPU_API_KEY.',
    python: 'With the package gpu_rental. Your API key is in GPU_API_KEY.',
    graphql: 'A POST to /graphql with your API key, or in GraphiQL.',
  },
  copyWay: {
    gpu: 'Copy the command',
    curl: 'Copy the command',
    python: 'Copy the script',
    graphql: 'Copy the document',
  },
  noWay: 'There is no machine to rent yet: MACHINE stands where its id would be.',
  holdsValues: 'It holds what you filled in, values of variables too.',
};
