/** A repository as restic takes it. */
export interface ResticRepository {
  /** With credentials where it is `rest:`: never in arguments or in a log. */
  url: string;
  password: string;
}

export interface ResticExit {
  /** Null when it was ended. */
  code: number | null;
  /** The last of what it printed. */
  output: string;
}

/** Runs the gateway's own restic; rejects where there is none, or when the signal is aborted. */
export type RunRestic = (
  repository: ResticRepository,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<ResticExit>;
