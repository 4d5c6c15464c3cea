/** The names of the pricing modes, and what one agrees to. */
export const texts = {
  onDemand: 'On demand',
  onDemandMeaning: 'Yours until you stop it. The price is locked for the life of the instance.',
  interruptible: 'Interruptible',
  interruptibleMeaning:
    'Half the price. Someone who rents the machine on demand or reserved stops it at once, without notice; its disk stays and keeps costing.',
  reserved: 'Reserved',
  reservedMeaning:
    '65 % of the price for 3 months of running; time stopped does not count. Destroying it sooner costs the discount you had until then.',
};
