#!/usr/bin/env -S node --
// Node reads no options after `--`. It would otherwise read --env-file itself: exit with 9 if the file is missing, and
// apply the file's NODE_OPTIONS, which are for an instance, to this process.
import { EXIT } from './failure.js';
import { runCommand } from './program.js';

// A reader that closes the pipe (`| head`) has all it needs.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? EXIT.done : EXIT.refused),
);

// Not awaited: a command with nothing left to wait for ends with the exit code set so far.
void runCommand(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
