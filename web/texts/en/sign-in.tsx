import type { ComponentChildren } from 'preact';

export const texts = {
  notAccepted: 'This key isn’t valid: it is mistyped, expired or revoked.',
  key: 'API key',
  show: 'Show key',
  hide: 'Hide key',
  keyFromSignUp: 'It was shown when you created your account.',
  keyFromOperator: 'The operator of this service gives you one.',
  /** `contact` is an email address or a host. Null if the operator has set none. */
  lost: (contact: ComponentChildren): ComponentChildren =>
    contact === null ? 'Lost it? Ask the operator for a new one.' : <>Lost it? Contact {contact}.</>,
  signingIn: 'Signing in …',
  signIn: 'Sign in',
  create: 'Create account',
  newHere: 'New here?',
  newAccount: 'No name, no address: your account is a key that only you have.',
  lookFirst: 'See what is free and what it costs, without an account.',
  saveKey: 'Save your key',
  onlyOnce: 'It is shown only this once. Anyone who has it can use your credit, and without it your account is lost.',
  copyKey: 'Copy key',
  download: 'Download',
  isKept: 'I’ve saved it in a safe place',
  begin: 'Sign in with this key',
  verify: 'Verify statements without signing in',
};
