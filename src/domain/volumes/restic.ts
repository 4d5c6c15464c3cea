/** A repository in the form that restic takes. */
export interface ResticRepository {
  /** With credentials if it is `rest:`: never in arguments or in a log. */
  url: string;
  password: string;
}

export interface ResticExit {
  /** Null if a signal ended it. */
  code: number | null;
  /** The last part of its output. */
  output: string;
}

/** Runs the gateway's own restic. Rejects if restic is missing, or when the signal is aborted. */
export type RunRestic = (
  repository: ResticRepository,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<ResticExit>;
