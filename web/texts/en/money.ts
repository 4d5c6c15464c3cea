export const texts = { title: 'Money', reading: 'Reading your balance …' };
