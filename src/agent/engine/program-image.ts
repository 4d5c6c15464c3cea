import { Readable } from 'node:stream';
import tar from 'tar-stream';

/** Returns a tar archive whose only file is the executable /program. Equal programs result in equal archives. */
export function tarOfProgram(program: Buffer): Readable {
  const archive = tar.pack();
  archive.entry({ name: 'program', mode: 0o755, mtime: new Date(0) }, program);
  archive.finalize();
  return Readable.from(archive);
}
