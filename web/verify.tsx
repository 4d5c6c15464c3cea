import { render } from 'preact';
import { Verify } from './screens/verify.js';

render(<Verify />, document.getElementById('root')!);
