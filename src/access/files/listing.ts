import { type FileEntry, type FileKind, type Folder, MAX_ENTRIES } from '../../domain/instances/instance-files.js';
import { turn } from '../../std/untrusted/turn.js';
import type { Attributes, Entry } from '../ssh/sftp-packets.js';
import { entriesOf, STAT } from '../ssh/sftp-shell.js';

/**
 * Maximum output for a folder's entries, and for its link targets. This is enough for the longest possible listing if
 * the names are of usual length.
 */
const MAX_LISTED_BYTES = 2_097_152;
const MAX_LINKS_BYTES = 1_048_576;
/** Maximum size of both outputs including their separators. */
export const MAX_LISTING_BYTES = 4_194_304;

const TYPE_BITS = 0xf000;
/** File kinds by the type bits of the file mode. */
const KINDS = new Map<number, FileKind>([
  [0x8000, 'file'],
  [0x4000, 'folder'],
  [0xa000, 'link'],
]);

/**
 * Returns a script that prints the entries in the shell's current folder, followed by the link targets. Each entry
 * begins with the mark, which no program inside can know in advance. The mark is needed because names may contain
 * anything.
 */
export function listingScript(mark: string): string {
  const each = (what: string, of: string) =>
    `find . -mindepth 1 -maxdepth 1 ${what} -print0 2>/dev/null | xargs -0 stat ${of} -- 2>/dev/null`;
  return `${each('', `-c '${mark} ${STAT} %n'`)} | head -c ${MAX_LISTED_BYTES}
printf '%s' '${mark}links'
${each('-type l', `-L -c '${mark} ${STAT} %n'`)} | head -c ${MAX_LINKS_BYTES}`;
}

/**
 * Maximum number of lines read per listing. It exceeds the maximum number of entries, because malformed lines count
 * too.
 */
const MAX_LINES = 2 * MAX_ENTRIES;
/** Number of lines to read before yielding to other work. */
const LINES_PER_TURN = 1_000;

/** Parses the script's output. */
export async function readListing(output: Buffer, mark: string): Promise<Folder> {
  const end = output.indexOf(`${mark}links`);
  const listed = end < 0 ? output : output.subarray(0, end);
  const links = end < 0 ? output.subarray(0, 0) : output.subarray(end);
  const found = await linesOf(listed, mark, listed.length >= MAX_LISTED_BYTES);
  const kinds = (await linesOf(links, mark, links.length >= MAX_LINKS_BYTES)).entries;
  const targets = new Map(kinds.map(({ name, attributes }) => [name, kindOf(attributes)]));
  const entries = found.entries.slice(0, MAX_ENTRIES).map(({ name, attributes: of }): FileEntry => {
    const isLink = kindOf(of) === 'link';
    const target = targets.get(name);
    return {
      name: Buffer.from(name, 'latin1'),
      kind: !isLink ? kindOf(of) : target === 'file' || target === 'folder' ? target : 'link',
      isLink,
      size: of.size ?? 0n,
      modifiedAt: BigInt(of.times?.modified ?? 0),
    };
  });
  return { entries, isWhole: found.isWhole && found.entries.length <= MAX_ENTRIES };
}

/** Reads the names, with one character per byte, and their attributes. */
async function linesOf(output: Buffer, mark: string, isCut: boolean): Promise<{ entries: Entry[]; isWhole: boolean }> {
  const entries: Entry[] = [];
  let lines = 0;
  for (const entry of entriesOf(output, mark)) {
    lines += 1;
    if (lines > MAX_LINES) return { entries, isWhole: false };
    // The last line of a truncated listing has no end, so it is malformed.
    if (entry !== null) entries.push(entry);
    if (lines % LINES_PER_TURN === 0) await turn();
  }
  return { entries, isWhole: !isCut };
}

function kindOf({ mode = 0 }: Attributes): FileKind {
  return KINDS.get(mode & TYPE_BITS) ?? 'other';
}
