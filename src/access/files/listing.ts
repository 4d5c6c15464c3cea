import { type FileEntry, type FileKind, type Folder, MAX_ENTRIES } from '../../domain/instance-files.js';
import type { Attributes } from '../ssh/sftp-packets.js';
import { readAttributes, STAT } from '../ssh/sftp-shell.js';

/** Of what is printed of a folder, and of where its links lead: names of usual length for all entries of an answer. */
const MAX_LISTED_BYTES = 2_097_152;
const MAX_LINKS_BYTES = 1_048_576;
/** More than both, with what stands between them. */
export const MAX_LISTING_BYTES = 4_194_304;

const TYPE_BITS = 0xf000;
/** By the bits of a mode. */
const KINDS = new Map<number, FileKind>([
  [0x8000, 'file'],
  [0x4000, 'folder'],
  [0xa000, 'link'],
]);

/**
 * Prints the entries of the folder that the shell is in, then where its links lead. Each entry begins with the mark, which
 * nobody inside knows before: names may hold everything.
 */
export function listingScript(mark: string): string {
  const each = (what: string, of: string) =>
    `find . -mindepth 1 -maxdepth 1 ${what} -print0 2>/dev/null | xargs -0 stat ${of} -- 2>/dev/null`;
  return `${each('', `-c '${mark} ${STAT} %n'`)} | head -c ${MAX_LISTED_BYTES}
printf '%s' '${mark}links'
${each('-type l', `-L -c '${mark} ${STAT} %n'`)} | head -c ${MAX_LINKS_BYTES}`;
}

/** What the script has printed. */
export function readListing(output: Buffer, mark: string): Folder {
  const [listed = '', links = ''] = output.toString('latin1').split(`${mark}links`);
  const isCut = listed.length >= MAX_LISTED_BYTES;
  const found = linesOf(listed, mark, isCut);
  const targets = new Map(
    linesOf(links, mark, links.length >= MAX_LINKS_BYTES).map(([name, of]) => [name, kindOf(of)]),
  );
  const entries = found.slice(0, MAX_ENTRIES).map(([name, of]): FileEntry => {
    const isLink = kindOf(of) === 'link';
    const target = targets.get(name);
    return {
      name: Buffer.from(name, 'latin1'),
      kind: !isLink ? kindOf(of) : target === 'file' || target === 'folder' ? target : 'link',
      isLink,
      size: of.size ?? 0n,
      modifiedAt: BigInt(Math.trunc(of.times?.modified ?? 0)),
    };
  });
  return { entries, isWhole: !isCut && found.length <= MAX_ENTRIES };
}

/** What `stat` prints and a name, in numbers that can be: the programs of an image print what they like. */
const LINE = /^([\da-f]{1,8}(?: \d{1,20}){4} -?\d{1,20}) \.\/([^/]{1,255})\n$/;

/** Names, as one character for each byte, with what they are. */
function linesOf(text: string, mark: string, isCut: boolean): [name: string, of: Attributes][] {
  const lines = text.split(`${mark} `).slice(1);
  if (isCut) lines.pop();
  return lines.flatMap((line) => {
    const [, numbers, name] = LINE.exec(line) ?? [];
    return numbers === undefined ? [] : [[name!, readAttributes(numbers)]];
  });
}

function kindOf({ mode = 0 }: Attributes): FileKind {
  return KINDS.get(mode & TYPE_BITS) ?? 'other';
}
