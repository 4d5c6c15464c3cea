import { isLoginUser } from '../../domain/kernel/container-user.js';

/** The parts of a login name. */
export interface LoginName {
  instanceId: string;
  /** Container user that commands run as, or null for the container's own. */
  user: string | null;
}

/**
 * Parses a login name. It is either an instance, or one of the container's users followed by `@` and the instance, such
 * as `root@i-31f72534`. A name in any other format identifies no instance.
 */
export function readLoginName(name: string): LoginName {
  const at = name.indexOf('@');
  const user = at < 0 ? null : name.slice(0, at);
  return user !== null && isLoginUser(user)
    ? { instanceId: name.slice(at + 1), user }
    : { instanceId: name, user: null };
}
