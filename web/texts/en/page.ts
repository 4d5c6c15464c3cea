/** Content of the page before any script runs. */
export const texts = {
  title: 'GPU rental',
  noScript: 'This console needs JavaScript. You can do the same with the API or on the command line.',
  verifyTitle: 'Verify statements · GPU rental',
  verifyNoScript: 'This page needs JavaScript. You can do the same with `gpu verify`.',
};
