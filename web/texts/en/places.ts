/** Names of the catalogue's places that differ in this language. */
export const places: Readonly<Record<string, string>> = {};
