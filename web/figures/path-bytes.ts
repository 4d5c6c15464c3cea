/* A path in a container consists of bytes, which may not be valid text. It is represented here as a string in which all
   but harmless bytes are percent-encoded. Such a string can be used in URLs unchanged, and two paths are equal if their
   strings are. */

/** Encodes a string's UTF-8 bytes. Slashes are kept by default. */
export function encodePath(text: string, keepsSlashes = true): string {
  const bytes = new TextEncoder().encode(text);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    const isPlain = /[A-Za-z0-9._~-]/.test(character) || (keepsSlashes && character === '/');
    return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** Decodes a path for display. Bytes that aren't valid text become replacement characters. */
export function pathText(encoded: string): string {
  const bytes = Uint8Array.from(encoded.match(/%[0-9A-Fa-f]{2}|[\s\S]/g) ?? [], (each) =>
    each.length === 3 ? Number.parseInt(each.slice(1), 16) : each.charCodeAt(0),
  );
  return new TextDecoder().decode(bytes);
}

export function joinPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

/** Returns the folders from the root to the path, each with its own name. The root's name is a slash. */
export function stepsOf(path: string): { path: string; name: string }[] {
  const names = path.split('/').filter((name) => name !== '');
  return [
    { path: '/', name: '/' },
    ...names.map((name, place) => ({ path: `/${names.slice(0, place + 1).join('/')}`, name: pathText(name) })),
  ];
}
