/**
 * Returns a command that sets `$f` to these bytes. It is plain ASCII, because commands are transferred as text. A shell
 * strips trailing line breaks from a command's output, so an appended dot protects them.
 */
export function nameIt(path: Buffer): string {
  const text = path
    .toString('latin1')
    .replace(/[^A-Za-z0-9/._-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `f=$(printf '%b.' '${text}'); f=\${f%.}`;
}
