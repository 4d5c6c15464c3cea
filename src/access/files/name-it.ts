/**
 * Returns a command that sets `$f` to these bytes, in ASCII because commands travel as text. A shell strips line breaks
 * from the end of a command's output, so a dot protects them.
 */
export function nameIt(path: Buffer): string {
  const text = path
    .toString('latin1')
    .replace(/[^A-Za-z0-9/._-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `f=$(printf '%b.' '${text}'); f=\${f%.}`;
}
