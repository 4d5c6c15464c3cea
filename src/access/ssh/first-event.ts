import type { EventEmitter } from 'node:events';

/** Resolves at the first of these events, and removes all of its listeners. */
export function firstEvent(emitter: EventEmitter, ...events: string[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      for (const event of events) emitter.off(event, end);
      resolve();
    };
    for (const event of events) emitter.on(event, end);
  });
}
