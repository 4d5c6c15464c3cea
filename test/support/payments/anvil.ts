import { randomBytes } from 'node:crypto';
import { freePort } from '../free-port.js';
import type { Chain, Received } from './chain.js';
import { rpc, start, untilReady } from './programs.js';

const ETHER_DECIMALS = 18;
const TOKEN_DECIMALS = 6;
/**
 * keccak256("Transfer(address,address,uint256)") and the first four bytes of keccak256("transfer(address,uint256)").
 */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const TRANSFER_CALL = '0xa9059cbb';

interface Block {
  number: string;
  transactions: { hash: string; to: string | null; value: string }[];
}

/** Foundry's Ethereum node. The test produces the blocks. */
export class AnvilChain implements Chain {
  readonly #url: string;
  readonly #end: () => Promise<void>;
  #payer = '';

  private constructor(url: string, end: () => Promise<void>) {
    this.#url = url;
    this.#end = end;
  }

  static async open(): Promise<AnvilChain> {
    const port = await freePort();
    const { end } = start('anvil', () => ['--port', String(port), '--no-mining', '--silent']);
    const chain = new AnvilChain(`http://127.0.0.1:${port}`, end);
    await untilReady(() => chain.call('eth_chainId'));
    [chain.#payer] = (await chain.call<string[]>('eth_accounts')) as [string];
    return chain;
  }

  async newAddress(): Promise<string> {
    return `0x${randomBytes(20).toString('hex')}`;
  }

  pay(address: string, coins: string): Promise<string> {
    return this.send({ to: address, value: hex(unitsOf(coins, ETHER_DECIMALS)) });
  }

  send(transaction: object): Promise<string> {
    return this.call('eth_sendTransaction', { from: this.#payer, gas: hex(500_000n), ...transaction });
  }

  async mine(blocks: number): Promise<void> {
    await this.call('anvil_mine', hex(BigInt(blocks)));
  }

  async received(address: string): Promise<Received[]> {
    const height = await this.height();
    const received: Received[] = [];
    for (let number = 0n; number <= height; number += 1n) {
      const block = await this.call<Block>('eth_getBlockByNumber', hex(number), true);
      received.push(...this.#paidIn(block, address, Number(height - number) + 1));
    }
    const pending = await this.call<Block>('eth_getBlockByNumber', 'pending', true);
    const known = new Set(received.map(({ transaction }) => transaction));
    return [...received, ...this.#paidIn(pending, address, 0).filter(({ transaction }) => !known.has(transaction))];
  }

  #paidIn({ transactions }: Block, address: string, confirmations: number): Received[] {
    return transactions
      .filter(({ to }) => to === address)
      .map(({ hash, value }) => ({ transaction: hash, coins: coinsOf(BigInt(value), ETHER_DECIMALS), confirmations }));
  }

  async height(): Promise<bigint> {
    return BigInt(await this.call('eth_blockNumber'));
  }

  /** Replaces the newest blocks with others that contain none of their transactions. */
  async reorganise(blocks: number): Promise<void> {
    await this.call('anvil_reorg', blocks, []);
    await this.call('anvil_dropAllTransactions');
  }

  close(): Promise<void> {
    return this.#end();
  }

  call<T = string>(method: string, ...params: unknown[]): Promise<T> {
    return rpc<T>(this.#url, method, params);
  }
}

/** A token like USDT, with six decimals and a transfer function that returns nothing. */
export class TokenChain implements Chain {
  readonly #ethereum: AnvilChain;
  readonly #contract: string;

  private constructor(ethereum: AnvilChain, contract: string) {
    this.#ethereum = ethereum;
    this.#contract = contract;
  }

  static async open(ethereum: AnvilChain): Promise<TokenChain> {
    const deployed = await ethereum.send({ data: TOKEN_CODE });
    await ethereum.mine(1);
    const receipt = await ethereum.call<{ contractAddress: string; status: string }>(
      'eth_getTransactionReceipt',
      deployed,
    );
    if (receipt.status !== '0x1') throw new Error('the token was not deployed');
    return new TokenChain(ethereum, receipt.contractAddress);
  }

  newAddress(): Promise<string> {
    return this.#ethereum.newAddress();
  }

  pay(address: string, coins: string): Promise<string> {
    const amount = word(unitsOf(coins, TOKEN_DECIMALS));
    return this.#ethereum.send({ to: this.#contract, data: TRANSFER_CALL + word(BigInt(address)) + amount });
  }

  mine(blocks: number): Promise<void> {
    return this.#ethereum.mine(blocks);
  }

  async received(address: string): Promise<Received[]> {
    type Log = { transactionHash: string; data: string; blockNumber: string };
    const logs = await this.#ethereum.call<Log[]>('eth_getLogs', {
      address: this.#contract,
      fromBlock: '0x0',
      toBlock: 'latest',
      topics: [TRANSFER_TOPIC, null, `0x${word(BigInt(address))}`],
    });
    const height = await this.#ethereum.height();
    return logs.map(({ transactionHash, data, blockNumber }) => ({
      transaction: transactionHash,
      coins: coinsOf(BigInt(data), TOKEN_DECIMALS),
      confirmations: Number(height - BigInt(blockNumber)) + 1,
    }));
  }

  async close(): Promise<void> {}
}

/**
 * The token's code, written by hand. Balances are in the slots of their owners' addresses, and the deployer starts with
 * 2^64 - 1 units. Any call is treated as transfer(to, amount): it deducts from the caller or reverts, adds to the
 * recipient, and logs Transfer.
 */
const TOKEN_CODE = tokenCode();

function tokenCode(): string {
  // PUSH1 36 CALLDATALOAD | CALLER SLOAD | DUP2 DUP2 LT PUSH1 revert JUMPI
  // DUP2 SWAP1 SUB CALLER SSTORE | DUP1 PUSH1 4 CALLDATALOAD SLOAD ADD PUSH1 4 CALLDATALOAD SSTORE
  // PUSH1 0 MSTORE PUSH1 4 CALLDATALOAD CALLER PUSH32 topic PUSH1 32 PUSH1 0 LOG3 STOP | JUMPDEST PUSH1 0 PUSH1 0
  // REVERT
  const head = '602435' + '3354' + '818110' + '60' + '__' + '57';
  const move = '81900333' + '55' + '806004355401600435' + '55';
  const log = `600052600435337f${TRANSFER_TOPIC.slice(2)}60206000a300`;
  const code = head + move + log;
  const revertAt = code.length / 2;
  const runtime = `${code.replace('__', revertAt.toString(16).padStart(2, '0'))}5b60006000fd`;
  const size = (runtime.length / 2).toString(16).padStart(2, '0');
  // PUSH8 2^64-1 CALLER SSTORE | PUSH1 size DUP1 PUSH1 offset PUSH1 0 CODECOPY PUSH1 0 RETURN
  const supply = `67${'f'.repeat(16)}3355`;
  const offset = (supply.length / 2 + 11).toString(16).padStart(2, '0');
  return `0x${supply}60${size}8060${offset}6000396000f3${runtime}`;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function unitsOf(coins: string, decimals: number): bigint {
  const [whole, rest = ''] = coins.split('.');
  return BigInt(whole! + rest.slice(0, decimals).padEnd(decimals, '0'));
}

function coinsOf(units: bigint, decimals: number): string {
  const text = units.toString().padStart(decimals + 1, '0');
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}
