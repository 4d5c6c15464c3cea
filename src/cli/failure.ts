/** Exit codes, as listed by `gpu config --help`. */
export const EXIT = { done: 0, refused: 1, usage: 2, noConnection: 3, interrupted: 130 } as const;

/** Thrown to end a command with one line on stderr. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
