import { freePort } from '../free-port.js';
import type { Chain, Received } from './chain.js';
import { rpc, start, untilReady } from './programs.js';

const MATURE_BLOCKS = 101;
const AUTHORIZATION = `Basic ${Buffer.from('test:test').toString('base64')}`;

/** Litecoin's own node on a private chain. The test produces the blocks. */
export class LitecoinChain implements Chain {
  readonly #url: string;
  readonly #end: () => Promise<void>;
  #miner = '';

  private constructor(url: string, end: () => Promise<void>) {
    this.#url = url;
    this.#end = end;
  }

  static async open(): Promise<LitecoinChain> {
    const port = await freePort();
    const { end } = start('litecoind', (folder) => [
      '-regtest',
      `-datadir=${folder}`,
      '-listen=0',
      '-rpcuser=test',
      '-rpcpassword=test',
      `-rpcport=${port}`,
      '-fallbackfee=0.0001',
    ]);
    const chain = new LitecoinChain(`http://127.0.0.1:${port}`, end);
    await untilReady(() => chain.#call('', 'getblockchaininfo'));
    for (const name of ['miner', 'shop']) await chain.#call('', 'createwallet', name);
    chain.#miner = await chain.#call('wallet/miner', 'getnewaddress');
    await chain.mine(MATURE_BLOCKS);
    return chain;
  }

  newAddress(): Promise<string> {
    return this.#call('wallet/shop', 'getnewaddress');
  }

  pay(address: string, coins: string): Promise<string> {
    return this.#call('wallet/miner', 'sendtoaddress', address, coins);
  }

  async mine(blocks: number): Promise<void> {
    await this.#call('', 'generatetoaddress', blocks, this.#miner);
  }

  async received(address: string): Promise<Received[]> {
    type Unspent = { txid: string; amount: number; confirmations: number };
    const unspent = await this.#call<Unspent[]>('wallet/shop', 'listunspent', 0, 9_999_999, [address]);
    return unspent.map(({ txid, amount, confirmations }) => ({
      transaction: txid,
      coins: amount.toFixed(8),
      confirmations,
    }));
  }

  /** Reverts the newest blocks and makes their payments impossible, because the coins are spent elsewhere. */
  async reorganise(blocks: number, transaction: string): Promise<void> {
    const height = await this.#call<number>('', 'getblockcount');
    const first = await this.#call<string>('', 'getblockhash', height - blocks + 1);
    type Tx = { vin: { txid: string; vout: number }[] };
    const raw = await this.#call<{ hex: string }>('wallet/miner', 'gettransaction', transaction);
    const { vin } = await this.#call<Tx>('', 'decoderawtransaction', raw.hex);
    await this.#call('', 'invalidateblock', first);
    // In the other branch, the coins go elsewhere, as in a double spend that a miner accepted.
    const inputs = vin.map(({ txid, vout }) => ({ txid, vout }));
    const worth = await this.#worth(inputs);
    const unsigned = await this.#call('', 'createrawtransaction', inputs, { [this.#miner]: (worth - 0.01).toFixed(8) });
    const signed = await this.#call<{ hex: string }>('wallet/miner', 'signrawtransactionwithwallet', unsigned);
    await this.#call('', 'generateblock', this.#miner, [signed.hex]);
    await this.mine(blocks);
  }

  async #worth(inputs: { txid: string; vout: number }[]): Promise<number> {
    let worth = 0;
    for (const { txid, vout } of inputs) {
      const { hex } = await this.#call<{ hex: string }>('wallet/miner', 'gettransaction', txid);
      const { vout: outputs } = await this.#call<{ vout: { value: number }[] }>('', 'decoderawtransaction', hex);
      worth += outputs[vout]!.value;
    }
    return worth;
  }

  close(): Promise<void> {
    return this.#end();
  }

  #call<T = string>(path: string, method: string, ...params: unknown[]): Promise<T> {
    return rpc<T>(`${this.#url}/${path}`, method, params, AUTHORIZATION);
  }
}
