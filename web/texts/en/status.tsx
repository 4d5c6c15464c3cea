/** An instance’s state in one word. */
export const states = {
  starting: 'starting',
  running: 'running',
  ended: 'ended',
  stopping: 'stopping',
  stopped: 'stopped',
  unreachable: 'unreachable',
  failed: 'failed',
  destroyed: 'destroyed',
};

/** Stop reasons, as part of a sentence. */
export const reasons = {
  USER: 'by you',
  PREEMPTED: 'its machine was rented on demand or reserved',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'the account is suspended',
  START_FAILED: 'its container couldn’t be started; credited if the machine was at fault',
  COMMAND_ENDED: 'its command ended',
  DEADLINE: 'its deadline was reached',
  SPEND_LIMIT: 'a spend limit was reached',
  IDLE: 'it was idle',
};

/** Short stop reasons for selection. */
export const shortReasons = {
  USER: 'by you',
  PREEMPTED: 'preempted',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'account suspended',
  START_FAILED: 'start failed',
  COMMAND_ENDED: 'command ended',
  DEADLINE: 'deadline reached',
  SPEND_LIMIT: 'spend limit reached',
  IDLE: 'idle',
};

/** The container’s state. */
export const phases = {
  WAITING: 'waiting for its machine',
  PULLING: 'pulling the image',
  RESTORING: 'restoring your volumes',
  STARTING: 'starting',
  RUNNING: 'container running',
  STOPPING: 'stopping',
  SAVING: 'saving your volumes',
  STOPPED: 'container stopped',
  EXITED: 'command ended',
  FAILED: 'container failed',
  UNREACHABLE: 'machine unreachable',
  ERASED: 'erased',
};

export const texts = {
  doneOf: (done: string, all: string) => `${done} of ${all}`,
  exited: (phase: string, code: number) => `${phase}, exit code ${code}`,
  pulled: 'Image pull progress',
  restored: 'Volume restore progress',
};
