import { render } from 'preact';
import { Verify } from './screens/verify.js';

const show = () => render(<Verify />, document.getElementById('root')!);

// The font is part of the page. Text in another one would move when it is ready.
void document.fonts.load(`1em ${getComputedStyle(document.body).fontFamily}`).then(show, show);
