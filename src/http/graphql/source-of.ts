import type { DocumentNode, Source } from 'graphql';

/** Returns the text that a document was parsed from. The gateway always parses with locations. */
export function sourceOf({ loc }: DocumentNode): Source {
  if (loc === undefined) throw new Error('the document was parsed without locations');
  return loc.source;
}
