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
  /** Message from the container engine. */
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

/** Returns the runtimes of active instances, by id. Instances whose machine has no host agent are omitted. */
export async function readRuntimes(send: Send, options: CallOptions): Promise<ReadonlyMap<string, Runtime>> {
  const { instances } = await query<{ instances: Row[] | null }>(send, `{ instances { ${ROW} } }`, {}, options);
  const known = (instances ?? []).filter((row): row is { id: string; runtime: Runtime } => row.runtime !== null);
  return new Map(known.map(({ id, runtime }) => [id, runtime]));
}

/** Returns an instance's runtime, or null if the instance is unknown or its machine has no host agent. */
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
