import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The members of Qwen2.5-7B-Instruct's config.json that the formula reads. */
export const QWEN_7B = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  hidden_size: 3584,
  intermediate_size: 18_944,
  num_hidden_layers: 28,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  vocab_size: 152_064,
  max_position_embeddings: 32_768,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};
export type HubHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A hub on loopback, whose models are handlers by path. */
export class Hub {
  readonly requests: { path: string; headers: IncomingMessage['headers'] }[] = [];
  readonly #server: Server;
  readonly #models = new Map<string, HubHandler>();

  constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? '';
      this.requests.push({ path, headers: request.headers });
      const handler = this.#models.get(path);
      if (handler === undefined) response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
      else handler(request, response);
    });
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  set(name: string, file: 'config.json' | 'model.safetensors.index.json', handler: HubHandler): void {
    this.#models.set(`/${name}/resolve/main/${file}`, handler);
  }

  pathsOf(name: string): string[] {
    return this.requests.map(({ path }) => path).filter((path) => path.startsWith(`/${name}/`));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export const json =
  (value: unknown): HubHandler =>
  (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
