import { freePort } from '../free-port.js';
import type { Chain, Received } from './chain.js';
import { rpc, start, untilReady } from './programs.js';

/** Number of blocks after which the first coins may be spent. A block's coins are locked for 60 blocks. */
const MATURE_BLOCKS = 75;
const XMR_DECIMALS = 12;
/** One account mines and pays. The other is the shop's, with a separate address for each invoice. */
const MINER = 0;
const SHOP = 1;

/** Monero's own node and wallet on a private chain. The test produces the blocks. */
export class MoneroChain implements Chain {
  readonly #daemon: string;
  readonly #wallet: string;
  readonly #ends: (() => Promise<void>)[];
  readonly #indexes = new Map<string, number>();
  #miner = '';

  private constructor(daemon: string, wallet: string, ends: (() => Promise<void>)[]) {
    this.#daemon = daemon;
    this.#wallet = wallet;
    this.#ends = ends;
  }

  static async open(): Promise<MoneroChain> {
    const [daemonPort, peerPort, walletPort] = [await freePort(), await freePort(), await freePort()];
    const node = start('monerod', (folder) => [
      '--regtest',
      '--offline',
      '--fixed-difficulty=1',
      '--non-interactive',
      '--no-zmq',
      '--no-igd',
      `--data-dir=${folder}`,
      `--rpc-bind-port=${daemonPort}`,
      `--p2p-bind-port=${peerPort}`,
    ]);
    const daemon = `http://127.0.0.1:${daemonPort}/json_rpc`;
    await untilReady(() => rpc(daemon, 'get_block_count', {}));
    const purse = start('monero-wallet-rpc', (folder) => [
      `--daemon-address=127.0.0.1:${daemonPort}`,
      `--rpc-bind-port=${walletPort}`,
      '--disable-rpc-login',
      `--wallet-dir=${folder}`,
      `--log-file=${folder}/log`,
    ]);
    const wallet = `http://127.0.0.1:${walletPort}/json_rpc`;
    const chain = new MoneroChain(daemon, wallet, [purse.end, node.end]);
    await untilReady(() => rpc(wallet, 'get_version', {}));
    await rpc(wallet, 'create_wallet', { filename: 'shop', password: '', language: 'English' });
    const { address } = await rpc<{ address: string }>(wallet, 'get_address', { account_index: MINER });
    chain.#miner = address;
    await rpc(wallet, 'create_account', {});
    await chain.mine(MATURE_BLOCKS);
    return chain;
  }

  async newAddress(): Promise<string> {
    type Made = { address: string; address_index: number };
    const { address, address_index: index } = await rpc<Made>(this.#wallet, 'create_address', { account_index: SHOP });
    this.#indexes.set(address, index);
    return address;
  }

  async pay(address: string, coins: string): Promise<string> {
    await rpc(this.#wallet, 'refresh', {});
    const [whole, rest = ''] = coins.split('.');
    const amount = Number(whole! + rest.padEnd(XMR_DECIMALS, '0'));
    const destinations = [{ address, amount }];
    const { tx_hash: transaction } = await rpc<{ tx_hash: string }>(this.#wallet, 'transfer', {
      destinations,
      account_index: MINER,
    });
    return transaction;
  }

  async mine(blocks: number): Promise<void> {
    await rpc(this.#daemon, 'generateblocks', { amount_of_blocks: blocks, wallet_address: this.#miner });
  }

  async received(address: string): Promise<Received[]> {
    await rpc(this.#wallet, 'refresh', {});
    type Transfer = { txid: string; amount: number; confirmations?: number };
    const transfers = await rpc<{ in?: Transfer[]; pool?: Transfer[] }>(this.#wallet, 'get_transfers', {
      in: true,
      pool: true,
      account_index: SHOP,
      subaddr_indices: [this.#indexes.get(address)!],
    });
    return [...(transfers.in ?? []), ...(transfers.pool ?? [])].map(({ txid, amount, confirmations = 0 }) => {
      const text = String(amount).padStart(XMR_DECIMALS + 1, '0');
      return {
        transaction: txid,
        coins: `${text.slice(0, -XMR_DECIMALS)}.${text.slice(-XMR_DECIMALS)}`,
        confirmations,
      };
    });
  }

  async close(): Promise<void> {
    for (const end of this.#ends) await end();
  }
}
