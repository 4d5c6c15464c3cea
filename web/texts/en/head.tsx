export const texts = {
  brand: 'GPU rental',
  screens: 'Screens',
  api: 'API',
  more: 'More',
  find: 'Search',
  signIn: 'Sign in',
  signOut: 'Sign out',
};
