/** Path for the payment processor's callbacks, which is included in each invoice. */
export const CALLBACK_PATH = '/payments/callback';
