/** Whether it is rented and paid for. */
export const states = { RUNNING: 'running', STOPPED: 'stopped', DESTROYED: 'destroyed' };

/** Why it stopped, as part of a sentence. */
export const reasons = {
  USER: 'by you',
  PREEMPTED: 'its machine was rented on demand or reserved',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'the account is suspended',
  START_FAILED: 'its container could not be started; given back if the machine was at fault',
  COMMAND_ENDED: 'its command ended',
  DEADLINE: 'its deadline was over',
  SPEND_LIMIT: 'a spend limit was reached',
  IDLE: 'nothing happened on it',
};

/** The same, short, to choose from. */
export const shortReasons = {
  USER: 'by you',
  PREEMPTED: 'preempted',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'account suspended',
  START_FAILED: 'did not start',
  COMMAND_ENDED: 'command ended',
  DEADLINE: 'deadline over',
  SPEND_LIMIT: 'spend limit reached',
  IDLE: 'idle',
};

/** What the container does. */
export const phases = {
  WAITING: 'waiting for its machine',
  PULLING: 'pulling the image',
  RESTORING: 'bringing your volumes',
  STARTING: 'starting',
  RUNNING: 'container runs',
  STOPPING: 'stopping',
  SAVING: 'storing your volumes',
  STOPPED: 'container stopped',
  EXITED: 'command ended',
  FAILED: 'container failed',
  UNREACHABLE: 'machine not heard from',
  ERASED: 'erased',
};

export const texts = {
  progress: (phase: string, done: string, all: string) => `${phase}: ${done} of ${all}`,
  exited: (phase: string, code: number) => `${phase}, exit code ${code}`,
  pulled: 'Image pulled',
  restored: 'Volumes restored',
};
