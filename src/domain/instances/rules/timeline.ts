import { required } from '../../../std/required.js';
/**
 * The kinds of events in an instance's timeline, each with a description for the renter. Their order is the sort order
 * of events within the same second, oldest first. For example, when a machine fails to start an instance, the stop
 * follows the failure.
 */
export const TIMELINE_KINDS = {
  RENTED: 'It was rented, at this rate.',
  STARTED: 'It was started again, at this rate.',
  RUNNING: 'Its container was first seen running after this start.',
  FAILED: 'Its container could not be started.',
  UNREACHABLE: 'Its machine became unreachable.',
  REACHABLE: 'Its machine became reachable again.',
  GPU_MISSING: 'Its machine no longer found one of its GPUs.',
  GPU_BACK: 'All its GPUs were found again.',
  VOLUME_STORED: 'A volume was saved.',
  VOLUME_LOST: 'Later writes to a volume are lost, because the volume was released before it was saved.',
  CHANGED: 'A key of the account requested a change, or the change was refused; `asked` says which.',
  IDLE: 'It was idle, and its renter was notified that it would stop.',
  LIMIT_REACHED: 'Its spend limit was reached.',
  STOPPED: 'It stopped.',
  DESTROYED: 'It was destroyed and its disk erased.',
  CREDITED: 'Seconds that its machine did not deliver were credited.',
} as const;

/** Why seconds were credited, each with a description for the renter. */
export const CREDIT_REASONS = {
  SLOW_START: 'Its container took too long to start.',
  TEMPLATE_START: "A start of one of the operator's templates ended before its container ran.",
  START_FAILED: 'Its machine could not start it.',
  OUTAGE: 'Its machine was unreachable.',
} as const;

export type CreditReason = keyof typeof CREDIT_REASONS;

export type TimelineKind = keyof typeof TIMELINE_KINDS;

const ORDER = Object.keys(TIMELINE_KINDS) as TimelineKind[];

/** An entry's position, which is unique within its instance's timeline. */
export interface TimelinePlace {
  /** Seconds since the Unix epoch. */
  at: bigint;
  kind: TimelineKind;
  /** The entry's subject: an ordinal, a volume and its snapshot, or the number of an activity entry. */
  about: string;
}

const CURSOR = /^T:(\d{1,12}):(\d{1,2}):([\w:.-]{0,160})$/;

export function timelineCursor({ at, kind, about }: TimelinePlace): string {
  return Buffer.from(`T:${at}:${ORDER.indexOf(kind)}:${about}`).toString('base64');
}

/** Whether a decoded cursor was created by `timelineCursor`. */
export function isTimelineCursor(decoded: string): boolean {
  return ORDER[Number(CURSOR.exec(decoded)?.[2] ?? ORDER.length)] !== undefined;
}

/**
 * Returns the position in the form compared by the statement: the second, the rank of the kind, and the subject.
 * Returns null if the cursor is invalid.
 */
export function placeOfCursor(cursor: string | null | undefined): [at: string, rank: number, about: string] | null {
  const match = cursor == null ? null : CURSOR.exec(Buffer.from(cursor, 'base64').toString());
  if (match === null) return null;
  const [, at = '', rank = '', about = ''] = match;
  return [at, Number(rank), about];
}

export function kindOfRank(rank: number): TimelineKind {
  return required(ORDER[rank], 'kind of a rank');
}

export function rankOf(kind: TimelineKind): number {
  return ORDER.indexOf(kind);
}
