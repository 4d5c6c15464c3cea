import dark from '../../product/en-dark.webp';
import light from '../../product/en-light.webp';

/** A picture of the console in this language. `npm run console:pictures` takes it. */
export const texts = {
  alt: 'The Deploy page: a machine, a template, and the price before you press the button',
  dark,
  light,
};
