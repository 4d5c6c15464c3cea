export const texts = {
  title: 'Money',
  reading: 'Reading your balance …',
  asOf: (time: string) => `All amounts on this screen are as of ${time}.`,
};
