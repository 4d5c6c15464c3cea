/**
 * Reads the body of a response from an untrusted server. Returns null if it is larger than `maxBytes`, without reading
 * the rest.
 */
export async function readBounded({ body }: Response, maxBytes: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Node's streams are async iterable, but the browser's types don't say so.
  for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
