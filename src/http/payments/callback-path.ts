/** Path of the payment processor's callbacks, which is part of each invoice. */
export const CALLBACK_PATH = '/payments/callback';
