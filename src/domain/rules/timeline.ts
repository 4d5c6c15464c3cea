/**
 * What can happen to an instance, with what its renter is told. The order is that of things within one second, oldest first: a
 * machine that fails a start stops it afterwards.
 */
export const TIMELINE_KINDS = {
  RENTED: 'It was rented, at the rate from then on.',
  STARTED: 'It was started again, at the rate from then on.',
  RUNNING: 'Its container was first seen running in this start.',
  FAILED: 'Its container could not be started.',
  UNREACHABLE: 'Its machine was no longer heard from.',
  REACHABLE: 'Its machine was heard from again.',
  GPU_MISSING: 'Its machine no longer found a GPU of it.',
  GPU_BACK: 'All its GPUs were there again.',
  VOLUME_STORED: 'What a volume holds was stored.',
  VOLUME_LOST: 'What was written to a volume from then on is lost: the volume was released before it was stored.',
  CHANGED: 'A key of the account asked for a change, or the change was refused: `asked` says which.',
  IDLE: 'It was idle, and its renter was told that it would stop.',
  LIMIT_REACHED: 'Its spend limit was reached.',
  STOPPED: 'It stopped.',
  DESTROYED: 'It was destroyed, and its disk erased.',
  CREDITED: 'Seconds that its machine did not deliver were given back.',
} as const;

export type TimelineKind = keyof typeof TIMELINE_KINDS;

const ORDER = Object.keys(TIMELINE_KINDS) as TimelineKind[];

/** Where an entry stands: unlike that of any other of the same instance. */
export interface TimelinePlace {
  /** Seconds since 1970. */
  at: bigint;
  kind: TimelineKind;
  /** Names what it is about: an ordinal, a volume and its snapshot, the number of a note. */
  about: string;
}

const CURSOR = /^T:(\d{1,12}):(\d{1,2}):([\w:.-]{0,160})$/;

export function timelineCursor({ at, kind, about }: TimelinePlace): string {
  return Buffer.from(`T:${at}:${ORDER.indexOf(kind)}:${about}`).toString('base64');
}

/** Whether `timelineCursor` makes such a cursor, in its decoded form. */
export function isTimelineCursor(decoded: string): boolean {
  return ORDER[Number(CURSOR.exec(decoded)?.[2] ?? ORDER.length)] !== undefined;
}

/** The place as the statement compares it: second, number of the kind, and what it is about. Null for no cursor. */
export function placeOfCursor(cursor: string | null | undefined): [at: string, rank: number, about: string] | null {
  const match = cursor == null ? null : CURSOR.exec(Buffer.from(cursor, 'base64').toString());
  return match === null ? null : [match[1]!, Number(match[2]), match[3]!];
}

export function kindOfRank(rank: number): TimelineKind {
  return ORDER[rank]!;
}

export function rankOf(kind: TimelineKind): number {
  return ORDER.indexOf(kind);
}
