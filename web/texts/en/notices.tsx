export const texts = { title: 'Notices' };
