import { smallestUnits } from '../../kernel/decimal.js';

/**
 * A coin on a specific network, accepted as payment. USDT is one coin on several networks, so its codes include the
 * network.
 */
export interface Asset {
  coin: string;
  network: string;
  /** Number of confirmations after which a payment is final, counting the payment's own block. */
  confirmations: number;
  /** URI that a wallet can open. It is just the address if wallets don't agree on any further format. */
  uri(address: string, amount: string): string;
}

/** USDT contracts on the main networks, from tether.to. A wallet needs them to send the token. */
const USDT_ON_ETHEREUM = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const USDT_ON_SOLANA = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
const ETHER_DECIMALS = 18;
const USDT_DECIMALS = 6;

/**
 * The seven coins accepted by the service. The numbers of confirmations are defaults that the
 * operator can override.
 */
export const ASSETS = {
  BTC: { coin: 'BTC', network: 'Bitcoin', confirmations: 2, uri: (to, amount) => `bitcoin:${to}?amount=${amount}` },
  LTC: { coin: 'LTC', network: 'Litecoin', confirmations: 6, uri: (to, amount) => `litecoin:${to}?amount=${amount}` },
  XMR: { coin: 'XMR', network: 'Monero', confirmations: 10, uri: (to, amount) => `monero:${to}?tx_amount=${amount}` },
  ETH: {
    coin: 'ETH',
    network: 'Ethereum',
    confirmations: 12,
    uri: (to, amount) => `ethereum:${to}@1?value=${smallestUnits(amount, ETHER_DECIMALS)}`,
  },
  SOL: { coin: 'SOL', network: 'Solana', confirmations: 32, uri: (to, amount) => `solana:${to}?amount=${amount}` },
  TRX: { coin: 'TRX', network: 'Tron', confirmations: 19, uri: (to) => to },
  'USDT-TRX': { coin: 'USDT', network: 'Tron', confirmations: 19, uri: (to) => to },
  'USDT-ETH': {
    coin: 'USDT',
    network: 'Ethereum',
    confirmations: 12,
    uri: (to, amount) =>
      `ethereum:${USDT_ON_ETHEREUM}@1/transfer?address=${to}&uint256=${smallestUnits(amount, USDT_DECIMALS)}`,
  },
  'USDT-SOL': {
    coin: 'USDT',
    network: 'Solana',
    confirmations: 32,
    uri: (to, amount) => `solana:${to}?amount=${amount}&spl-token=${USDT_ON_SOLANA}`,
  },
} as const satisfies Record<string, Asset>;

export type AssetCode = keyof typeof ASSETS;

export const ASSET_CODES = Object.keys(ASSETS) as AssetCode[];

function isAssetCode(code: string): code is AssetCode {
  return Object.hasOwn(ASSETS, code);
}

/**
 * Returns the asset named by a text, ignoring case. The network can be omitted if the coin has only one. Returns null
 * if no asset or more than one matches.
 */
export function assetNamed(text: string, taken: readonly AssetCode[] = ASSET_CODES): AssetCode | null {
  const code = text.toUpperCase();
  if (isAssetCode(code)) return code;
  const ofCoin = taken.filter((each) => ASSETS[each].coin === code);
  const [asset = null, ...others] = ofCoin;
  return others.length === 0 ? asset : null;
}

/** Number of confirmations for each asset. These are the defaults unless overridden by the operator. */
export type Confirmations = Readonly<Record<AssetCode, number>>;

const MAX_CONFIRMATIONS = 1_000;

/** Parses text such as `BTC=3,USDT-TRX=25`. Returns undefined for anything else. */
export function readConfirmations(text: string): Confirmations | undefined {
  const confirmations = Object.fromEntries(ASSET_CODES.map((code) => [code, ASSETS[code].confirmations])) as Record<
    AssetCode,
    number
  >;
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [, code = '', count = ''] = /^\s*([A-Z-]+)=(\d{1,4})\s*$/.exec(part) ?? [];
    const wanted = Number(count);
    if (!isAssetCode(code) || wanted < 1 || wanted > MAX_CONFIRMATIONS) return undefined;
    confirmations[code] = wanted;
  }
  return confirmations;
}
