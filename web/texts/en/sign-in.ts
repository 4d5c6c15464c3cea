export const texts = {
  title: 'Sign in',
  notAccepted: 'This key is not accepted: it is mistyped, or revoked.',
  key: 'API key',
  keyUse:
    'The page sends it once and forgets it. The browser holds a session of 12 hours that ends when you sign out or the key is revoked.',
  signingIn: 'Signing in …',
  signIn: 'Sign in',
  newHere: 'New here?',
  newAccount:
    'An account needs no name and no address. Its API key is all there is: whoever has it can spend the credit, and without it the account is lost.',
  create: 'Create an account',
  yourKey: 'This is your key. It is shown this once.',
  copyKey: 'Copy the key',
  isKept: 'I have copied it to a safe place',
  begin: 'Sign in with it',
};
