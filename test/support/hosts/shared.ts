import type Docker from 'dockerode';
import { type EngineName, removeAll, startEngine, type TestEngine } from './engines.js';
import { REGISTRY_DEFAULTS, REGISTRY_HOST, startRegistry, type TestRegistry } from './registry.js';

/**
 * One registry and one engine of each kind, shared by all test files of a worker. `close` only removes what a file left
 * in them, and they end with the run (global-setup.ts). Files that kill their engine start their own.
 */
const engines = new Map<EngineName, Promise<TestEngine>>();
let registry: Promise<TestRegistry> | null = null;

/** The image that nearly all tests run. It stays in the registry and in the engines. */
const KEPT = 'busybox';

export function sharedRegistry(): Promise<TestRegistry> {
  registry ??= openRegistry();
  return registry;
}

/** Returns the shared engine, which uses the shared registry without TLS. */
export async function sharedEngine(name: EngineName): Promise<TestEngine> {
  const { at, slowAt, closedAt } = await sharedRegistry();
  const known = engines.get(name) ?? openEngine(name, [at, slowAt, closedAt]);
  engines.set(name, known);
  const engine = await known;
  // The engine may have crashed in the previous test file.
  await engine.start();
  return engine;
}

async function openRegistry(): Promise<TestRegistry> {
  const opened = await startRegistry();
  const push = opened.push.bind(opened);
  const pushed = new Set<string>();
  opened.push = async (name, options) => {
    if (name === KEPT && pushed.has(KEPT)) return;
    await push(name, options);
    pushed.add(name);
  };
  opened.close = async () => {
    for (const name of pushed) if (name !== KEPT) opened.remove(name);
    Object.assign(opened, REGISTRY_DEFAULTS);
  };
  return opened;
}

async function openEngine(name: EngineName, registries: string[]): Promise<TestEngine> {
  const engine = await startEngine(name, registries);
  const pull = engine.pull.bind(engine);
  const pulled = new Set<string>();
  engine.pull = async (image) => {
    if (pulled.has(image)) return;
    await pull(image);
    if (isKept(image)) pulled.add(image);
  };
  engine.close = async () => {
    await removeAll(engine.docker);
    await removeImages(engine.docker);
  };
  return engine;
}

/** Removes images, except for the agent's own ones, which no registry has. */
async function removeImages(docker: Docker): Promise<void> {
  for (const { Id, RepoTags } of await docker.listImages()) {
    const names = (RepoTags ?? []).filter((name) => !name.includes('<none>'));
    const gone = names.length === 0 ? [Id] : names.filter((name) => name.startsWith(REGISTRY_HOST) && !isKept(name));
    for (const each of gone) await docker.getImage(each).remove();
  }
}

function isKept(image: string): boolean {
  return image.split('/').at(-1)!.split(':')[0] === KEPT;
}
