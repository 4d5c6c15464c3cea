import { describe, expect, it } from 'vitest';
import { startFault } from '../../../src/agent/engine/start-faults.js';

const RUNC = 'runc create failed: unable to start container process:';
const PODMAN = `/usr/sbin/runc: ${RUNC}`;
const DOCKER = `failed to create task for container: failed to create shim task: OCI runtime create failed: ${RUNC} error during container init:`;
const FOUND_NONE = 'OCI runtime attempted to invoke a command that was not found';

describe('the reason for a failed start', () => {
  it.each([
    [
      `${PODMAN} exec: "/no/such/program": stat /no/such/program: no such file or directory: ${FOUND_NONE}`,
      '/no/such/program was not found in the image',
    ],
    [`${DOCKER} exec: "nosuch": executable file not found in $PATH: unknown`, 'nosuch was not found in the image'],
    [
      `crun: executable file \`/no/such\` not found in $PATH: No such file or directory: ${FOUND_NONE}`,
      '/no/such was not found in the image',
    ],
    [`${PODMAN} exec: "/data": permission denied: OCI permission denied`, "/data can't be executed in the image"],
    [`${DOCKER} exec: "/etc": is a directory: unknown`, '/etc is a folder in the image'],
    ['crun: open executable: Permission denied: OCI permission denied', "the program can't be executed in the image"],
    [`${DOCKER} exec: "/bin/arm": exec format error: unknown`, '/bin/arm was built for another architecture'],
    ['workdir "/x" exists on container 810f, but is not a directory', "the image's working directory can't be entered"],
    ['unable to find user nobodyx: no matching entries in passwd file', 'the user does not exist in the image'],
    ['unable to find group nogroupx: no matching entries in group file', 'the group does not exist in the image'],
    [
      `OCI runtime error: ${PODMAN} error mounting "/var/lib/gpu-agent/volumes/v-1" to rootfs at "/etc/passwd": mount /var/lib/gpu-agent/volumes/v-1:/etc/passwd (via /proc/self/fd/6), flags: 0x5000: not a directory`,
      "a volume can't be mounted: its path is not a folder in the image",
    ],
    [
      'no command or entrypoint provided, and no CMD or ENTRYPOINT from image',
      'the image has no command; set one when you deploy it',
    ],
    ['No command specified', 'the image has no command; set one when you deploy it'],
  ])('is recognized in %s', (words, message) => {
    expect(startFault(words)).toEqual({ message, isFinal: true });
  });

  it('reveals nothing about the host if it is unknown', () => {
    const words = 'rlimit type 7: /var/lib/gpu-agent/x: operation not permitted';
    expect(startFault(words)).toEqual({ message: 'the container could not be started', isFinal: false });
    expect(startFault(`exec: "${'a'.repeat(9_999)}": executable file not found`).message.length).toBeLessThan(300);
  });
});
