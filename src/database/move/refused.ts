/** Thrown when a move is refused. The message is a single line for the operator. */
export class MoveRefused extends Error {}
