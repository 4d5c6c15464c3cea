import { FILTER_NAMES } from './filters.js';
import { path, presentParameters, withParameters } from './location.js';

/** The parameter that names a machine. Without it, the best match is rented. */
export const MACHINE = 'machine';
/** Parts of a launch that the URL contains. They include no secrets and nothing owned by the user. */
export const LAUNCH = ['name', 'port'] as const;

/** Requirements, and whether machines without a host agent are included. */
const CARRIED = [...FILTER_NAMES, 'agentless'];

/** Returns the URL of the rent page, with the current requirements and the given parameters. */
export function deployPath(extra: Readonly<Record<string, string | null>> = {}): string {
  const parameters = presentParameters(CARRIED);
  for (const [name, value] of Object.entries(extra)) if (value !== null) parameters.set(name, value);
  return withParameters('/deploy', parameters);
}

/** Returns a URL that lists the machines that meet the current requirements. */
export const machinesPath = (): string => withParameters('/machines', presentParameters(CARRIED));

/** Converts a URL from when renting was a dialog on the machines screen. */
export function deployPathOfOld(parameters: URLSearchParams): string {
  const next = new URLSearchParams(parameters);
  const machine = next.get('deploy') ?? '';
  next.delete('deploy');
  if (machine !== '' && machine !== 'best') next.set(MACHINE, machine);
  for (const name of ['compare', 'sort', 'priced']) next.delete(name);
  return withParameters('/deploy', next);
}

/** Returns whether the user is on the rent page, or on the sign-in page that leads to it. */
export const isRenting = (): boolean => ['/deploy', '/launch', '/sign-in'].includes(path.peek());
