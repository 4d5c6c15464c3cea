/**
 * Returns a command that sets `$f` to these bytes. The command is plain ASCII, because commands are transferred as
 * text. It appends a dot to protect trailing line breaks, which a shell strips from a command's output.
 */
export function nameIt(path: Buffer): string {
  const text = path
    .toString('latin1')
    .replace(/[^A-Za-z0-9/._-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `f=$(printf '%b.' '${text}'); f=\${f%.}`;
}
