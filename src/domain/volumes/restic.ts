/** A repository, as restic accepts it. */
export interface ResticRepository {
  /** Contains credentials if it begins with `rest:`, so it must never appear in arguments or in a log. */
  url: string;
  password: string;
}

export interface ResticExit {
  /** Null if a signal terminated restic. */
  code: number | null;
  /** The end of its output. */
  output: string;
}

/** Runs the gateway's own restic. Throws if restic is missing or the signal is aborted. */
export type RunRestic = (
  repository: ResticRepository,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<ResticExit>;
