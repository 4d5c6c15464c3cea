/** A repository as restic takes it. */
export interface ResticRepository {
  /** With credentials if it is `rest:`: never in arguments or in a log. */
  url: string;
  password: string;
}

export interface ResticExit {
  /** Null when it was ended by a signal. */
  code: number | null;
  /** The last part of its output. */
  output: string;
}

/** Runs the gateway's own restic; rejects where restic is missing, or when the signal is aborted. */
export type RunRestic = (
  repository: ResticRepository,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<ResticExit>;
