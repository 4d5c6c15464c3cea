/** The program file: `main.js`, or the single file that the whole agent is bundled into. */
export const PROGRAM = process.argv[1]!;

/** Argument that makes the program only connect to ports in a container's network. */
export const PORT_HELPER = 'port-helper';
