import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { TadaDocumentNode } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { Retry } from '../graph/retry.js';
import { Refusal, send } from '../graph/send.js';
import { regained } from './stream.js';

export interface Read<Data> {
  data: ReadonlySignal<Data | null>;
  error: ReadonlySignal<unknown>;
  again(): void;
}

/**
 * Reads a screen's data immediately, whenever its variables or `on` change, and after a reconnect. The last response
 * stays until the next one arrives, and only the response to the last query is used. Failed reads are retried
 * automatically while the screen is shown. If `variables` is null, nothing is sent.
 */
export function useRead<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables | null,
  on?: ReadonlySignal<unknown>,
): Read<Data> {
  const read = useMemo(() => createRead(document), [document]);
  const variablesText = JSON.stringify(variables);
  useEffect(() => {
    if (variables === null) return read.forget();
    return effect(() => {
      on?.value;
      regained.value;
      read.query(variables);
    });
  }, [variablesText, on, read]);
  useEffect(() => read.forget, [read]);
  return read;
}

function createRead<Data, Variables>(document: TadaDocumentNode<Data, Variables>) {
  const data: Signal<Data | null> = signal(null);
  const error: Signal<unknown> = signal(null);
  let last: Variables | null = null;
  let latest = 0;
  const retry = new Retry();
  const query = async (variables: Variables): Promise<void> => {
    last = variables;
    latest += 1;
    const own = latest;
    try {
      const answer = await send(document, variables);
      if (own !== latest) return;
      retry.end();
      data.value = answer;
      error.value = null;
    } catch (fault) {
      if (own !== latest) return;
      // Shows the parts that were not refused.
      if (fault instanceof Refusal && fault.partial !== null) data.value = fault.partial as Data;
      error.value = fault;
      retry.after(fault, () => void query(variables));
    }
  };
  return {
    data,
    error,
    query,
    again: () => void (last !== null && query(last)),
    forget: () => {
      latest += 1;
      retry.end();
      data.value = null;
      error.value = null;
    },
  };
}
