import { visible } from '../figures/visible.js';
import { operatorContact } from '../state/session.js';
import { texts } from '../texts/en/operator-contact.js';

/** Where to ask the operator for credit, as a link that names the account. Null if the operator names no place. */
export function contactUrl(account: string | undefined): string | null {
  const contact = operatorContact.value;
  if (contact === null || account === undefined || !contact.startsWith('mailto:')) return contact;
  return `${contact}?subject=${encodeURIComponent(texts.subject(account))}`;
}

/** The address or the host of the operator's contact, as a link. Null if the operator names none. */
export function OperatorContact({ account }: { account: string | undefined }) {
  const url = contactUrl(account);
  if (url === null) return null;
  const { protocol, pathname, host } = new URL(url);
  return <a href={url}>{visible(protocol === 'mailto:' ? decodeURIComponent(pathname) : host)}</a>;
}
