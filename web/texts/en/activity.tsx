export const texts = { title: 'Activity' };
