export const texts = {
  reading: 'Loading your balance …',
  asOf: (time: string) => `Amounts as of ${time}`,
  lasts: 'Lasts',
  years: 'years',
};
