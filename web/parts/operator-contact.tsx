import { visible } from '../figures/visible.js';
import { operatorContact } from '../state/session.js';
import { texts } from '../texts/en/operator-contact.js';

/** Returns the URL for requesting credit. An email gets the account's id as its subject. Null if no contact is set. */
export function contactUrl(account: string | undefined): string | null {
  const contact = operatorContact.value;
  if (contact === null || account === undefined || !contact.startsWith('mailto:')) return contact;
  return `${contact}?subject=${encodeURIComponent(texts.subject(account))}`;
}

/** Links to the operator's contact by its address or host. Shows nothing if no contact is set. */
export function OperatorContact({ account }: { account: string | undefined }) {
  const url = contactUrl(account);
  if (url === null) return null;
  const { protocol, pathname, host } = new URL(url);
  return <a href={url}>{visible(protocol === 'mailto:' ? decodeURIComponent(pathname) : host)}</a>;
}
