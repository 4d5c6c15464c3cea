#!/usr/bin/env -S node --
// Behind `--` Node reads no options. It would read --env-file itself: exit with 9 where the file is missing, and apply the NODE_OPTIONS
// that the file has for an instance to this very process.
import { EXIT } from './failure.js';
import { runCommand } from './program.js';

// A reader that closes the pipe (`| head`) has what it wants.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? EXIT.done : EXIT.refused),
);

// Not awaited: a command that waits for nothing any more ends with the code that is set by then.
void runCommand(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
