#!/usr/bin/env node
import { PORT_HELPER } from './program.js';

// The agent may be bundled as a single file, so its helper in a container's network is this same program, which then
// loads only a small part of its code.
if (process.argv[2] === PORT_HELPER) await import('./tunnels/port-helper.js');
else {
  const { runCommand } = await import('./commands.js');
  // An open handle, such as an idle HTTP connection, must not keep the program running.
  process.exit(await runCommand());
}
