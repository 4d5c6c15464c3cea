#!/usr/bin/env node
import { PORT_HELPER } from './program.js';

// The agent may be one file, so its helper in a container's network is the same program, of which it loads little.
if (process.argv[2] === PORT_HELPER) await import('./tunnels/port-helper.js');
else {
  const { runCommand } = await import('./commands.js');
  // What is left open, a connection kept alive, must not keep the program.
  process.exit(await runCommand());
}
