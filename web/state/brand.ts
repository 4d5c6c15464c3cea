import { texts } from '../texts/en/head.js';

/** The operator's name, which the gateway writes into the page if it is set. */
export const brandName =
  document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? texts.brand;
/** URL of the operator's logo, which is also the page's icon. */
export const brandLogo = document.querySelector('link[rel="icon"]')?.getAttribute('href') ?? '/icon.svg';
