/** The age of the market prices. */
export const texts = {
  today: 'Today’s market prices',
  yesterday: 'Yesterday’s market prices',
  of: (date: string) => `Market prices of ${date}`,
};
