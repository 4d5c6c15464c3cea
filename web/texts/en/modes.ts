/** The names and terms of the pricing modes. */
export const texts = {
  onDemand: 'On demand',
  onDemandBrief: 'Until you stop it',
  onDemandMeaning: 'Yours until you stop it. The price is locked for the lifetime of the instance.',
  interruptible: 'Interruptible',
  interruptibleBrief: 'May be stopped without notice',
  interruptibleMeaning:
    'Half the price. It stops immediately and without notice if the machine is rented on demand or reserved; its disk is kept and still billed.',
  reserved: 'Reserved',
  reservedBrief: '3 months; early exit costs extra',
  reservedMeaning:
    '65% of the price for 3 months of running time; time while stopped doesn’t count. If you destroy it earlier, you repay the discount received so far.',
};
