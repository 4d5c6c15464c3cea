import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { required } from '../../../src/std/required.js';
import type { VerifiedFile } from '../../../src/verify/verify.js';
import { asFiles, type ProofFile } from './history.js';

/** Files of which one document was changed. */
export interface Tampering {
  /** The change, such as "2027-11.json: remove links[2]". */
  name: string;
  /** Name of the changed file. */
  changed: string;
  files: VerifiedFile[];
}

type Path = (string | number)[];
// biome-ignore lint/suspicious/noExplicitAny: documents of any type are changed at any place
export type Any = any;

/** A change of one document. */
export interface Change {
  file: string;
  path: Path;
  does: string;
  apply(document: Any): Any;
}

/**
 * Returns `count` changes of single documents: members changed, removed, added, duplicated, swapped, or taken from
 * another document. Each kind of change at each kind of place occurs at least once. `resign` signs a changed
 * document again, as a dishonest service would.
 */
export function tamperings(
  files: readonly ProofFile[],
  { seed, count, resign = null }: { seed: number; count: number; resign?: ((document: Any) => Any) | null },
): Tampering[] {
  const changes = shuffledChanges(files, pickFrom(seed));
  const kinds = new Set<string>();
  const [first, rest]: [Change[], Change[]] = [[], []];
  for (const change of changes) {
    const { type } = changedFile(files, change).document;
    const kind = [type, change.does, ...change.path.map((part) => (typeof part === 'number' ? '#' : part))].join(' ');
    (kinds.has(kind) ? rest : first).push(change);
    kinds.add(kind);
  }
  const needed = Math.max(count, first.length);
  const made: Tampering[] = [];
  for (const change of [...first, ...rest]) {
    if (made.length === needed) break;
    const original = changedFile(files, change);
    const changed = change.apply(structuredClone(original.document));
    if (JSON.stringify(changed) === JSON.stringify(original.document)) continue;
    const document = resign === null ? changed : resign(changed);
    made.push({
      name: nameOf(change),
      changed: change.file,
      files: asFiles(companions(files, original).map((each) => (each === original ? { ...each, document } : each))),
    });
  }
  return made;
}

export function changedFile(files: readonly ProofFile[], change: Change): ProofFile {
  return required(
    files.find(({ name }) => name === change.file),
    'changed file',
  );
}

export function nameOf({ file, does, path }: Change): string {
  return `${file}: ${does} ${textOf(path)}`;
}

/** Returns a function that returns a random number from 0 up to but excluding `below`. */
export function pickFrom(seed: number): (below: number) => number {
  const random = xoroshiro128plus(seed);
  return (below) => uniformInt(random, 0, below - 1);
}

/** Returns all changes of single documents in a random order. */
export function shuffledChanges(files: readonly ProofFile[], pick: (below: number) => number): Change[] {
  const changes = files.flatMap((file) => changesOf(file, files, pick));
  for (let index = changes.length - 1; index > 0; index -= 1) {
    const other = pick(index + 1);
    [changes[index], changes[other]] = [changes[other] as Change, changes[index] as Change];
  }
  return changes;
}

/** Returns the files that are needed to check the changed one. Fewer files make the tests faster. */
export function companions(files: readonly ProofFile[], changed: ProofFile): ProofFile[] {
  const needs: Record<string, (type: string) => boolean> = {
    'gpu-rental/keys/v1': () => true,
    'gpu-rental/roots/v1': (type) => /keys|roots|consistency/.test(type),
    'gpu-rental/consistency/v1': (type) => /keys|roots/.test(type),
  };
  const isNeeded = needs[changed.document.type] ?? ((type) => type.includes('keys'));
  return files.filter((each) => each === changed || isNeeded(each.document.type));
}

function changesOf(
  { name: file, document }: ProofFile,
  files: readonly ProofFile[],
  pick: (below: number) => number,
): Change[] {
  const alike = files.filter((other) => other.name !== file && other.document.type === document.type);
  return pathsOf(document).flatMap((path): Change[] => {
    const changes: Change[] = [];
    const add = (does: string, apply: Change['apply']) => changes.push({ file, path, does, apply });
    const value = at(document, path);
    if (path.length > 0) {
      const [parent, last] = [path.slice(0, -1), path.at(-1) as string | number];
      add('remove', (copy) => {
        const holder = at(copy, parent);
        if (Array.isArray(holder)) holder.splice(Number(last), 1);
        else delete holder[last];
        return copy;
      });
      if (typeof last === 'number') {
        add('duplicate', (copy) => {
          at(copy, parent).splice(last, 0, value);
          return copy;
        });
        if (last > 0)
          add('swap with the previous', (copy) => {
            const items = at(copy, parent);
            [items[last - 1], items[last]] = [items[last], items[last - 1]];
            return copy;
          });
      }
      if (value === null || typeof value !== 'object') {
        add('change', (copy) => {
          // Only the first document shows when the first key began to sign.
          const changed = textOf(path) === 'keys[0].from' ? '9999-12-31T23:59:59Z' : changedValue(value, pick);
          at(copy, parent)[last] = changed;
          return copy;
        });
      }
      const source = alike.length === 0 ? undefined : alike[pick(alike.length)];
      const other = source === undefined ? undefined : at(source.document, path);
      if (other !== undefined && source !== undefined)
        add(`take from ${source.name}`, (copy) => {
          at(copy, parent)[last] = structuredClone(other);
          return copy;
        });
    }
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      add('add a member to', (copy) => {
        at(copy, path).extra = 0;
        return copy;
      });
    }
    return changes;
  });
}

function pathsOf(value: Any, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object') return [path];
  const names = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...names.flatMap((name) => pathsOf(value[name], [...path, name]))];
}

function at(document: Any, path: Path): Any {
  return path.reduce((value, name) => value?.[name], document);
}

function changedValue(value: unknown, pick: (below: number) => number): unknown {
  if (value === null) return ['x', 0, '2027-11-02T00:00:00Z', '1'][pick(4)];
  if (typeof value === 'number') return [value + 1, value === 0 ? 2 : value - 1, value + 256][pick(3)];
  if (typeof value !== 'string') return null;
  if (/^\d{4}-.*Z$/.test(value)) {
    const seconds = [1, -1, 86_400][pick(3)] as number;
    return new Date(Date.parse(value) + seconds * 1_000).toISOString().replace('.000', '');
  }
  if (/^-?\d+$/.test(value)) return (BigInt(value) + BigInt([1, -1, 3_600][pick(3)] as number)).toString();
  if (/^[0-9a-f]{16,}$/.test(value)) {
    const index = pick(value.length);
    const digit = (Number.parseInt(value[index] as string, 16) + 1 + pick(15)) % 16;
    return value.slice(0, index) + digit.toString(16) + value.slice(index + 1);
  }
  if (/^[A-Za-z0-9+/]{40,}=*$/.test(value)) {
    const bytes = Buffer.from(value, 'base64');
    bytes[pick(bytes.length)]! ^= 1 << pick(8);
    return bytes.toString('base64');
  }
  return `${value}x`;
}

function textOf(path: Path): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}
