import type { CallOptions, Send } from './send.js';

/** Last reported state of an instance's container. Only GraphQL provides it. */
export interface Runtime {
  phase:
    | 'WAITING'
    | 'PULLING'
    | 'STARTING'
    | 'RUNNING'
    | 'STOPPING'
    | 'STOPPED'
    | 'EXITED'
    | 'RESTORING'
    | 'SAVING'
    | 'FAILED'
    | 'UNREACHABLE'
    | 'ERASED';
  pulledBytes: number | null;
  totalBytes: number | null;
  /** The container engine's message. */
  message: string | null;
  exitCode: number | null;
  restarts: number;
  reachable: boolean;
  lastSeenAt: string | null;
}

interface Row {
  id: string;
  runtime: Runtime | null;
}

const ROW = 'id runtime { phase pulledBytes totalBytes message exitCode restarts reachable lastSeenAt }';

/** Reads the runtimes of active instances, by id, without those whose machine has no host agent. */
export async function readRuntimes(send: Send, options: CallOptions): Promise<ReadonlyMap<string, Runtime>> {
  const { instances } = await query<{ instances: Row[] | null }>(send, `{ instances { ${ROW} } }`, {}, options);
  const known = (instances ?? []).filter((row): row is { id: string; runtime: Runtime } => row.runtime !== null);
  return new Map(known.map(({ id, runtime }) => [id, runtime]));
}

/** Reads a runtime; null for an unknown instance, or if its machine has no host agent. */
export async function readRuntime(send: Send, id: string, options: CallOptions): Promise<Runtime | null> {
  const text = `query ($id: ID!) { instance(id: $id) { ${ROW} } }`;
  const { instance } = await query<{ instance: Row | null }>(send, text, { id }, options);
  return instance?.runtime ?? null;
}

async function query<Data>(send: Send, text: string, variables: object, options: CallOptions): Promise<Data> {
  const body = { query: text, variables };
  const { data } = await send<{ data?: Data | null }>({
    method: 'POST',
    path: '/graphql',
    isGraphql: true,
    body,
    options,
  });
  return data ?? ({} as Data);
}
