import { z } from 'zod';
import { type Field, text, wholeNumber } from '../kernel/field.js';

export const topUpFields = {
  topUpAsset: text(
    1,
    20,
    'Currency to pay with: BTC, LTC, XMR, ETH, SOL, TRX, or USDT with its network: USDT-TRX, USDT-ETH, USDT-SOL.',
  ),
  topUpId: { schema: z.string(), must: 'a string', description: 'Top-up id. Any other string is an unknown top-up.' },
  topUps: wholeNumber(1, 100, 'Maximum number of top-ups returned.'),
} satisfies Record<string, Field<unknown>>;
