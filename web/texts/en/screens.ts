/** The name of each screen by URL, which is the same in the navigation, the heading, the page's title and the palette. */
export const screens = {
  '/': 'Home',
  '/machines': 'Machines',
  '/models': 'Run a model',
  '/deploy': 'Deploy',
  '/instances': 'Instances',
  '/volumes': 'Volumes',
  '/billing': 'Billing',
  '/keys': 'Keys',
  '/activity': 'Activity',
  '/notifications': 'Notifications',
  '/sign-in': 'Sign in',
};
