import dark from '../../product/de-dark.webp';
import light from '../../product/de-light.webp';
import type { texts as english } from '../en/product.js';

/** A picture of the console in this language. `npm run console:pictures` takes it. */
export const texts: typeof english = {
  alt: 'Die Seite zum Mieten: eine Maschine, eine Vorlage und der Preis vor dem Klick',
  dark,
  light,
};
