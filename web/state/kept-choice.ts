/** Returns what the browser keeps under a name. Null if it keeps nothing or doesn't allow storage. */
export function keptChoice(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a choice in the browser, or forgets it. Without storage, it lasts as long as the page is open. */
export function keepChoice(name: string, choice: string | null): void {
  try {
    if (choice === null) localStorage.removeItem(name);
    else localStorage.setItem(name, choice);
  } catch {
    // The browser doesn't allow storage.
  }
}
