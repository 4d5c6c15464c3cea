import { TestHost } from './agent-process.js';
import type { EngineName, TestEngine } from './engines.js';
import type { ImageOptions, TestRegistry } from './registry.js';
import { ScriptedGateway } from './scripted-gateway.js';
import { sharedEngine, sharedRegistry } from './shared.js';

/**
 * A running host that all tests of a file share, because an agent's start takes as long as most of the tests. The
 * engine and the registry belong to the worker.
 */
export class RunningHost {
  registry!: TestRegistry;
  engine!: TestEngine;
  gateway!: ScriptedGateway;
  host!: TestHost;

  /** Starts the host with the images already pulled. */
  async open(name: EngineName, images: Record<string, ImageOptions>): Promise<this> {
    this.registry = await sharedRegistry();
    this.engine = await sharedEngine(name);
    for (const [image, options] of Object.entries(images)) {
      await this.registry.push(image, options);
      await this.engine.pull(`${this.registry.at}/${image}:latest`);
    }
    this.gateway = await ScriptedGateway.open();
    this.host = new TestHost(this.engine, this.gateway);
    this.host.start();
    return this;
  }

  /** Also closes what a failed `open` has opened. */
  async close(): Promise<void> {
    await this.host?.close();
    await this.gateway?.close();
    await this.engine?.close();
    await this.registry?.close();
  }
}
