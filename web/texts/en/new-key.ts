/** The dialog that creates an API key. */
export const texts = {
  name: 'Name',
  nameExample: 'laptop, build server …',
  new: 'New API key',
  create: 'Create key',
  restrict: 'Networks and limit',
  scopes: 'Permissions; if none are selected, those of this session',
  /** By the API's name for the scope. */
  may: {
    READ: 'read everything except logs, links and passwords',
    RENT: 'rent, start, stop, destroy, limit; volumes, templates',
    ACCESS: 'SSH keys, terminals, files, web links, open ports, logs, secrets',
    MONEY: 'top up credit, set the monthly limit, change billing details',
    KEYS: 'create, limit and revoke keys, set up notifications',
  },
  ends: 'Expires',
  in: { never: 'Never', day: 'In 1 day', days30: 'In 30 days', days90: 'In 90 days', year: 'In 1 year' },
  networks: 'Allowed networks',
  maySpend: 'Limit per UTC month (USD)',
  noLimit: 'no limit',
  created: 'Your new key',
  copy: 'Copy key',
};
