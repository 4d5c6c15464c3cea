/** Maximum length of a user with a group, in characters. */
export const MAX_CONTAINER_USER = 65;
/** Maximum id accepted by Docker and Podman. */
const MAX_ID = 2_147_483_647;
/**
 * Matches names accepted by shadow's `useradd`, plus names with capitals or dots. A name made of digits would be an id,
 * and one with a leading hyphen would be an option.
 */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/;
const ID = /^(?:0|[1-9]\d{0,9})$/;

/** Describes the accepted form in messages. */
export const CONTAINER_USER_MUST =
  'root, a user name of up to 32 characters or a number from 0 to 2147483647, optionally with a colon and a group, such as 1000:1000';

/**
 * Whether the text has the form of Docker's `--user` option: a name or id, optionally followed by a colon and a group.
 */
export function isContainerUser(text: string): boolean {
  const [user = '', group, ...rest] = text.split(':');
  return isNameOrId(user) && (group === undefined || isNameOrId(group)) && rest.length === 0;
}

/** Whether the text names a user that a command can run as. The user's groups are read from the container's files. */
export function isLoginUser(text: string): boolean {
  return isNameOrId(text);
}

function isNameOrId(text: string): boolean {
  return NAME.test(text) || (ID.test(text) && Number(text) <= MAX_ID);
}
