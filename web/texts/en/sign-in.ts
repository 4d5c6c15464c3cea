export const texts = {
  notAccepted: 'This key isn’t valid: it is mistyped, expired or revoked.',
  key: 'API key',
  keyUse:
    'The page sends it once and doesn’t keep it. Your session lasts 12 hours, or until you sign out or the key is revoked.',
  signingIn: 'Signing in …',
  signIn: 'Sign in',
  newHere: 'New here?',
  newAccount:
    'An account needs no name or address, only its API key: anyone with the key can spend the credit, and without it the account is lost.',
  create: 'Create account',
  yourKey: 'This is your key. It is shown only once.',
  copyKey: 'Copy key',
  isKept: 'I’ve saved it in a safe place',
  begin: 'Sign in with this key',
  verify: 'Verify statements without signing in',
};
