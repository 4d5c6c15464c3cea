/* A path in a container is bytes, which may not be text. Here it is those bytes percent-encoded, except harmless
   ones: it is used unchanged in addresses, and two paths are equal if their texts are. */

/** Encodes the UTF-8 bytes of a text; optionally keeps slashes. */
export function encodePath(text: string, keepsSlashes = true): string {
  const bytes = new TextEncoder().encode(text);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    const isPlain = /[A-Za-z0-9._~-]/.test(character) || (keepsSlashes && character === '/');
    return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** Decodes a path for display: bytes that are not text appear as replacement characters. */
export function pathText(encoded: string): string {
  const bytes = Uint8Array.from(encoded.match(/%[0-9A-Fa-f]{2}|[\s\S]/g) ?? [], (each) =>
    each.length === 3 ? Number.parseInt(each.slice(1), 16) : each.charCodeAt(0),
  );
  return new TextDecoder().decode(bytes);
}

export function joinPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

/** Returns the folders from the root, each with its own name; the root's is a slash. */
export function stepsOf(path: string): { path: string; name: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return [
    { path: '/', name: '/' },
    ...names.map((name, place) => ({ path: `/${names.slice(0, place + 1).join('/')}`, name: pathText(name) })),
  ];
}
