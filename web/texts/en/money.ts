export const texts = {
  reading: 'Loading your balance …',
  asOf: (time: string) => `All amounts on this screen are as of ${time}.`,
};
