const MAX_PROGRAM = 200;
/** Matches the program in the error messages of runc and crun. */
const PROGRAM = /\bexec: "((?:[^"\\]|\\.)+)"|executable file [`'"]([^`'"]+)[`'"]/;

/**
 * Reasons why a container doesn't start. The first match applies. The original error names folders on the host, so
 * renters get one of these messages instead. `PROGRAM` is replaced by the program's name.
 */
const REASONS: readonly [pattern: RegExp, message: string][] = [
  [/no command (or entrypoint )?(provided|specified)/i, 'the image has no command; set one when you deploy it'],
  [
    /^unreadable users/,
    "/etc/passwd and /etc/group must be regular files of at most 4 MB, outside the container's mounts",
  ],
  [/no matching entries in passwd file|unable to find user/i, 'the user does not exist in the image'],
  [/no matching entries in group file|unable to find group/i, 'the group does not exist in the image'],
  [/workdir|working directory|chdir to cwd/i, "the image's working directory can't be entered"],
  [/error mounting|to rootfs at/i, "a volume can't be mounted: its path is not a folder in the image"],
  [/argument list too long/i, 'the command and its variables are too long'],
  [/exec format error/i, 'PROGRAM was built for another architecture'],
  [/is a directory/i, 'PROGRAM is a folder in the image'],
  [/exec.*permission denied|open executable: permission denied/i, "PROGRAM can't be executed in the image"],
  [
    /executable file .*not found|exec: .*no such file or directory|command that was not found/i,
    'PROGRAM was not found in the image',
  ],
];

export interface StartFault {
  /** Message for the renter. */
  message: string;
  /** Whether the same image and launch would fail every time. */
  isFinal: boolean;
}

/** Returns the reason for an engine's start error, or `otherwise` if the error is unknown. */
export function startFault(text: string, otherwise = 'the container could not be started'): StartFault {
  const [, message] = REASONS.find(([pattern]) => pattern.test(text)) ?? [];
  if (message === undefined) return { message: otherwise, isFinal: false };
  const [, runc, crun] = PROGRAM.exec(text) ?? [];
  const program = (runc ?? crun ?? 'the program').slice(0, MAX_PROGRAM);
  return { message: message.replace('PROGRAM', () => program), isFinal: true };
}
