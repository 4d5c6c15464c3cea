import { describe, expect, it } from 'vitest';
import {
  ASSET_CODES,
  ASSETS,
  type AssetCode,
  assetNamed,
  readConfirmations,
} from '../../src/domain/top-ups/rules/top-up-assets.js';

const TO = 'ADDRESS';
/** The contract's coins with their networks and the confirmations after which a payment is final. */
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

describe('accepted assets', () => {
  it('each define a coin, its network, its confirmations and a URI for wallets', () => {
    const found = ASSET_CODES.map((code) => {
      const { coin, network, confirmations, uri } = ASSETS[code];
      return [code, coin, network, confirmations, uri(TO, '1.5')];
    });
    expect(found).toEqual(TABLE);
  });

  it('are found by code, ignoring case, or by coin if accepted on only one network', () => {
    for (const code of ASSET_CODES) expect([assetNamed(code), assetNamed(code.toLowerCase())]).toEqual([code, code]);
    expect([assetNamed('usdt'), assetNamed('usdt', ['BTC', 'USDT-ETH']), assetNamed('usdt', ['BTC'])]).toEqual([
      null,
      'USDT-ETH',
      null,
    ]);
    for (const other of ['', 'DOGE', 'toString', 'constructor', 'BTC ']) expect(assetNamed(other), other).toBeNull();
  });
});

describe('the operator’s confirmation counts', () => {
  const defaults = Object.fromEntries(TABLE.map(([code, , , confirmations]) => [code, confirmations]));

  it('replace the defaults for the named assets', () => {
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
  ])('can’t be %j', (text) => {
    expect(readConfirmations(text)).toBeUndefined();
  });
});
