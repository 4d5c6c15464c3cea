import type { texts as english } from '../en/notices.js';

export const texts: typeof english = { title: 'Benachrichtigungen' };
