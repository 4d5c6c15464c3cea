import { InstanceLinks, WebLink } from '../graph/documents.js';
import { send } from '../graph/send.js';

/** A private port, and the path to open at it. */
export interface WebPort {
  id: string;
  port: number;
  path?: string;
}

/**
 * Opens a private port in a new tab. `find` returns the port, or null if there is none. If the service refuses the
 * request, closes the tab and throws the refusal.
 */
export async function openPort(find: () => Promise<WebPort | null> | WebPort): Promise<void> {
  // The window is opened before the response arrives, because browsers would block a later one as unrequested.
  const tab = window.open('about:blank', '_blank');
  try {
    const port = await find();
    const webLink = port === null ? null : (await send(WebLink, port)).webLink;
    if (webLink === null) return tab?.close();
    if (tab === null) location.assign(webLink.url);
    else {
      tab.opener = null;
      tab.location.replace(webLink.url);
    }
  } catch (fault) {
    tab?.close();
    throw fault;
  }
}

/** Returns the port of an instance's first named service, with the path that includes its token. */
export async function firstService(id: string): Promise<WebPort | null> {
  const { instanceLinks } = await send(InstanceLinks, { id });
  const [first] = instanceLinks?.links ?? [];
  return first === undefined ? null : { id, port: first.port, path: first.path };
}
