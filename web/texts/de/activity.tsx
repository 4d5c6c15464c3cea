import type { texts as english } from '../en/activity.js';

export const texts: typeof english = { title: 'Aktivität' };
