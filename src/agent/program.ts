/** The file that runs: `main.js`, or the one file that the whole agent is bundled into. */
export const PROGRAM = process.argv[1]!;

/** With this argument the program connects to ports in a container's network, and does nothing else. */
export const PORT_HELPER = 'port-helper';
