/** The form that makes an API key. */
export const texts = {
  name: 'Name',
  nameExample: 'laptop, build server …',
  create: 'Create a key',
  lessPower: 'With less power',
  scopes: 'What it may; with none chosen, what this session may',
  /** By the scope's name, which is the API's. */
  may: {
    READ: 'read everything but logs and secrets',
    RENT: 'rent, start, stop, destroy',
    ACCESS: 'SSH keys, terminals, web links, open ports, logs, secrets',
    MONEY: 'make top-ups',
    KEYS: 'create and revoke keys, say who is told of events',
  },
  ends: 'Ends',
  in: { never: 'Never', day: 'In a day', days30: 'In 30 days', days90: 'In 90 days', year: 'In a year' },
  networks: 'Only from these networks',
  maySpend: 'May spend in a month (UTC), in USD',
  noLimit: 'no limit',
  made: 'Your new key, shown this once',
  copy: 'Copy the key',
  haveIt: 'I have it',
};
