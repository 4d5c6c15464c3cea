/** Thrown when a move is refused. The message is a single line for the operator. */
export class MoveRefused extends Error {}

/** Thrown when a move fails. It can be repeated or undone. The message is a single line for the operator. */
export class MoveFailed extends Error {}
