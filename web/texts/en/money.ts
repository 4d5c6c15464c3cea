export const texts = {
  reading: 'Loading your balance …',
  asOf: (time: string) => `As of ${time}`,
};
