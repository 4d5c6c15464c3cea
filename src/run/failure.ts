/** A run can't go on; the message is one line for whoever started it. */
export class RunFailed extends Error {
  /** The instance, where there is one that was not destroyed. */
  readonly instanceId: string | null;

  constructor(message: string, instanceId: string | null = null) {
    super(message);
    this.instanceId = instanceId;
  }
}
