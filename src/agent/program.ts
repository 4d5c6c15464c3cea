/** The program file: `main.js`, or the single file that the whole agent is bundled into. */
export const PROGRAM = process.argv[1]!;

/** Argument with which the program only connects to ports in a container's network. */
export const PORT_HELPER = 'port-helper';
