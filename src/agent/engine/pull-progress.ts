import type { PullProgress } from './engine.js';

/** A line of the engine's response to a pull, with the fields that the agent reads. */
export interface PullLine {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

/** Maximum number of layers to count. An image has at most 127. */
const MAX_LAYERS = 1_000;

/** Adds up the sizes of the layers being downloaded, except those that the host already has. */
export class PullCounter {
  readonly #layers = new Map<string, { current: number; total: number }>();

  add({ id, status, progressDetail }: PullLine): void {
    if (id === undefined) return;
    const layer = this.#layers.get(id);
    if (status === 'Downloading' && typeof progressDetail?.current === 'number') {
      if (layer === undefined && this.#layers.size >= MAX_LAYERS) return;
      const current = Math.max(progressDetail.current, layer?.current ?? 0);
      this.#layers.set(id, { current, total: Math.max(progressDetail.total ?? 0, current) });
    } else if (status === 'Download complete' && layer !== undefined) {
      layer.current = layer.total;
    }
  }

  get progress(): PullProgress {
    let [pulledBytes, totalBytes] = [0, 0];
    for (const layer of this.#layers.values()) {
      pulledBytes += layer.current;
      totalBytes += layer.total;
    }
    return { pulledBytes, totalBytes };
  }
}
