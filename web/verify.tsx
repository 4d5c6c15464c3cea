import { render } from 'preact';
import { Verify } from './screens/verify.js';

const show = () => render(<Verify />, document.getElementById('root')!);

// The fonts are part of the page, except a local fallback. Text in another one would move when they are ready.
void Promise.allSettled([...document.fonts].map((face) => face.load())).then(show);
