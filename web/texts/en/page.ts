/** What stands in the page before any script runs. */
export const texts = {
  title: 'GPU rental',
  noScript: 'This console needs JavaScript. The same can be done with the API and the command line.',
};
