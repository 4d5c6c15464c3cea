export const texts = { title: 'Notifications' };
