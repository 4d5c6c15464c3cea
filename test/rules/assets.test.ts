import { describe, expect, it } from 'vitest';
import {
  ASSET_CODES,
  ASSETS,
  type AssetCode,
  assetNamed,
  readConfirmations,
} from '../../src/domain/rules/top-up-assets.js';

const TO = 'ADDRESS';
/** The contract's coins, the networks that they are paid on, and the blocks from which a payment is final. */
const TABLE: [AssetCode, string, string, number, string][] = [
  ['BTC', 'BTC', 'Bitcoin', 2, 'bitcoin:ADDRESS?amount=1.5'],
  ['LTC', 'LTC', 'Litecoin', 6, 'litecoin:ADDRESS?amount=1.5'],
  ['XMR', 'XMR', 'Monero', 10, 'monero:ADDRESS?tx_amount=1.5'],
  ['ETH', 'ETH', 'Ethereum', 12, 'ethereum:ADDRESS@1?value=1500000000000000000'],
  ['SOL', 'SOL', 'Solana', 32, 'solana:ADDRESS?amount=1.5'],
  ['TRX', 'TRX', 'Tron', 19, TO],
  ['USDT-TRX', 'USDT', 'Tron', 19, TO],
  [
    'USDT-ETH',
    'USDT',
    'Ethereum',
    12,
    'ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=ADDRESS&uint256=1500000',
  ],
  [
    'USDT-SOL',
    'USDT',
    'Solana',
    32,
    'solana:ADDRESS?amount=1.5&spl-token=Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB',
  ],
];

describe('what one can pay with', () => {
  it('is each coin on its network, with what a wallet opens', () => {
    const found = ASSET_CODES.map((code) => {
      const { coin, network, confirmations, uri } = ASSETS[code];
      return [code, coin, network, confirmations, uri(TO, '1.5')];
    });
    expect(found).toEqual(TABLE);
  });

  it('is found by its code in any case of letters, or by its coin where that is of one network', () => {
    for (const code of ASSET_CODES) expect([assetNamed(code), assetNamed(code.toLowerCase())]).toEqual([code, code]);
    expect([assetNamed('usdt'), assetNamed('usdt', ['BTC', 'USDT-ETH']), assetNamed('usdt', ['BTC'])]).toEqual([
      null,
      'USDT-ETH',
      null,
    ]);
    for (const other of ['', 'DOGE', 'toString', 'constructor', 'BTC ']) expect(assetNamed(other), other).toBeNull();
  });
});

describe('confirmations of the operator', () => {
  const defaults = Object.fromEntries(TABLE.map(([code, , , confirmations]) => [code, confirmations]));

  it('replace the defaults of the assets that are named', () => {
    expect(readConfirmations('')).toEqual(defaults);
    expect(readConfirmations(' , ')).toEqual(defaults);
    expect(readConfirmations('BTC=3, USDT-TRX=25 ,')).toEqual({ ...defaults, BTC: 3, 'USDT-TRX': 25 });
    expect(readConfirmations('BTC=1,LTC=1000')).toEqual({ ...defaults, BTC: 1, LTC: 1_000 });
  });

  it.each([
    'BTC',
    'BTC=',
    '=3',
    'BTC=0',
    'BTC=1001',
    'BTC=12345',
    'BTC=-1',
    'BTC=1.5',
    'btc=3',
    'DOGE=3',
    'toString=3',
    'BTC=3;LTC=4',
    'xBTC=3',
    'BTC=3x',
    'BTC=3,x',
  ])('are not %j', (text) => {
    expect(readConfirmations(text)).toBeUndefined();
  });
});
