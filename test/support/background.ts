/** What a gateway does on its own timers, whether requests come or not. */
const BY_ITSELF =
  /^(due-|mark-away|settle-|open-outages|open-starts)|update api_key set last_used_at|delete from console_session where expires_at/;

/** Whether a call of `query`, by its arguments, is such work's. */
export function isByItself([query]: readonly unknown[]): boolean {
  const { name, text } = typeof query === 'string' ? { name: undefined, text: query } : (query as Named);
  return BY_ITSELF.test(String(name ?? text));
}

interface Named {
  name?: string;
  text?: string;
}
