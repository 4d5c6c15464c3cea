/** Path of the payment processor's callbacks, which each invoice contains. */
export const CALLBACK_PATH = '/payments/callback';
