import { render } from 'preact';
import { App } from './app.js';
import { startAccount } from './state/account.js';

startAccount();
render(<App />, document.getElementById('root')!);
