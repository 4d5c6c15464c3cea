#!/usr/bin/env node
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
