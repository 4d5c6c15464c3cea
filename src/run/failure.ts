/** A run that can't continue; the message is one line for the user. */
export class RunFailed extends Error {
  /** The instance that was not destroyed, if there is one. */
  readonly instanceId: string | null;

  constructor(message: string, instanceId: string | null = null) {
    super(message);
    this.instanceId = instanceId;
  }
}
