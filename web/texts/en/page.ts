/** Content of the page before any script runs. */
export const texts = {
  title: 'GPU rental',
  noScript: 'This console needs JavaScript. You can do the same with the API or on the command line.',
};
