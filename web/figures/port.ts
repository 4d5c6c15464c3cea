/** The service's name for a port of an instance, as the subject of a request. */
const PORT = /^port:(\d+)$/;

/** Returns the port that a request was about. Null if it was about something else. */
export const portOf = (subject: string): string | null => PORT.exec(subject)?.[1] ?? null;
