#!/usr/bin/env node
import { complain, runCommand } from './program.js';
import { run } from './run.js';

// Without this listener, the process would end without closing the database if the reader closes the pipe (`| head`).
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') complain(`can't write the output: ${message}`);
  process.exitCode = 1;
});

const exitCode = await runCommand(process.argv.slice(2), run);
if (exitCode !== 0) process.exitCode = exitCode;
