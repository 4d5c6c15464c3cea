import { FILTER_NAMES } from './filters.js';
import { askedOf, path, withParameters } from './location.js';

/** The parameter of the address that names a machine; without it, the best that fits is rented. */
export const MACHINE = 'machine';
/** What of a launch stands in the address: nothing that could be secret, and nothing of what its reader owns. */
export const LAUNCH = ['name', 'port'] as const;

/** The page that rents, for the requirements that the address has now and what is said here. */
export function deployPath(said: Readonly<Record<string, string | null>> = {}): string {
  const asked = askedOf(FILTER_NAMES);
  for (const [name, value] of Object.entries(said)) if (value !== null) asked.set(name, value);
  return withParameters('/deploy', asked);
}

/** The machines that meet what the address asks for. */
export const machinesPath = (): string => withParameters('/machines', askedOf(FILTER_NAMES));

/** Where an address of before leads, when renting was a dialog over the machines. */
export function deployPathOfOld(asked: URLSearchParams): string {
  const next = new URLSearchParams(asked);
  const machine = next.get('deploy') ?? '';
  next.delete('deploy');
  if (machine !== '' && machine !== 'best') next.set(MACHINE, machine);
  for (const name of ['compare', 'sort', 'priced']) next.delete(name);
  return withParameters('/deploy', next);
}

/** Whether the page that rents is shown, or the one that it is left for to sign in. */
export const isRenting = (): boolean => ['/deploy', '/launch', '/sign-in'].includes(path.peek());
