/**
 * A command that sets `$f` to these bytes, in ASCII: commands travel as text. A shell removes line breaks from the end of
 * what a command printed, so a dot stands there.
 */
export function nameIt(path: Buffer): string {
  const text = path
    .toString('latin1')
    .replace(/[^A-Za-z0-9/._-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `f=$(printf '%b.' '${text}'); f=\${f%.}`;
}
