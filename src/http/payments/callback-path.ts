/** Where the payment processor's callbacks go; part of what it knows of each invoice. */
export const CALLBACK_PATH = '/payments/callback';
