/*
 * A path in a container is bytes, which need not be text. Here it is those bytes percent-encoded, but for what is sure to be
 * harmless: it stands in addresses as it is, and two paths are equal if their texts are.
 */

/** The bytes of a text in UTF-8; slashes stay where they are wanted. */
export function encodePath(text: string, keepsSlashes = true): string {
  const bytes = new TextEncoder().encode(text);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    const isPlain = /[A-Za-z0-9._~-]/.test(character) || (keepsSlashes && character === '/');
    return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** What is shown of it: bytes that are no text appear as replacement characters. */
export function pathText(encoded: string): string {
  const bytes = Uint8Array.from(encoded.match(/%[0-9A-Fa-f]{2}|[\s\S]/g) ?? [], (each) =>
    each.length === 3 ? Number.parseInt(each.slice(1), 16) : each.charCodeAt(0),
  );
  return new TextDecoder().decode(bytes);
}

export function joinPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

/** The folders from the root on, each with its own name; the root's is a slash. */
export function stepsOf(path: string): { path: string; name: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return [
    { path: '/', name: '/' },
    ...names.map((name, place) => ({ path: `/${names.slice(0, place + 1).join('/')}`, name: pathText(name) })),
  ];
}
