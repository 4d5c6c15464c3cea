#!/usr/bin/env -S node --
// Node reads no options after the `--` above. Otherwise, Node would interpret --env-file itself: it would exit with 9
// if the file is missing, and apply the file's NODE_OPTIONS to this process instead of the instance.
import { EXIT } from './failure.js';
import { runCommand } from './program.js';

// A reader that closes the pipe (`| head`) has read all it needs.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? EXIT.done : EXIT.refused),
);

// The command is not awaited, so a command that has nothing left to wait for ends with the exit code set so far.
void runCommand(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
