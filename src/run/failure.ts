/** Thrown if a run can't continue. The message is one line for the user. */
export class RunFailed extends Error {
  /** Id of the instance that was not destroyed, if any. */
  readonly instanceId: string | null;

  constructor(message: string, instanceId: string | null = null) {
    super(message);
    this.instanceId = instanceId;
  }
}
