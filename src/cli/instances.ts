import type { Argument, Command } from 'commander';
import type { GpuClient } from '../client/index.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { openSession, type Session } from './session.js';

/** Name of the argument that identifies an instance. */
const ARGUMENT = 'instance';
/** A string of this form is always an id, even if an instance has it as its name. */
const ID = /^i-[0-9a-f]{8}$/;
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const NAMES = '{ instances { id name } }';

/** Returns whether an argument identifies an instance. */
export function isInstance(argument: Argument | undefined): boolean {
  return argument?.name() === ARGUMENT;
}

/** Makes each command that takes an instance id also accept the instance's name, and describes the argument. */
export function acceptNames(program: Command): void {
  for (const { registeredArguments } of program.commands) {
    for (const argument of registeredArguments.filter(isInstance)) argument.description = 'Instance id or name';
  }
  program.hook('preAction', async (_, command) => {
    const index = command.registeredArguments.findIndex(isInstance);
    const given: unknown = command.processedArgs[index];
    if (typeof given !== 'string' || !NAME.test(given) || ID.test(given)) return;
    command.processedArgs[index] = await idOf(openSession(command, { needsKey: true }), given);
  });
}

/**
 * Returns the id of the active instance with this id or name. A string in neither form is returned unchanged, so that
 * the service rejects it.
 */
export async function idOf(session: Session, given: string): Promise<string> {
  if (ID.test(given) || !NAME.test(given)) return given;
  const { body: names } = await session.request(namesOf, true);
  const ids = [...names].filter(([, name]) => name === given).map(([id]) => id);
  const [id] = ids;
  if (id === undefined) {
    const hint = '`gpu instances` lists active instances; name a destroyed one by its id';
    throw new Failure(EXIT.refused, `no active instance has the name or id ${visible(given)}; ${hint}`);
  }
  if (ids.length > 1)
    throw new Failure(EXIT.usage, `${ids.length} instances are named ${given}; use an id: ${ids.join(', ')}`);
  if (!ID.test(id)) throw new Failure(EXIT.noConnection, 'the service returned an invalid instance id');
  return id;
}

/** Returns the active instances' names by id. */
export async function namesOf(client: GpuClient): Promise<ReadonlyMap<string, string>> {
  const { instances } = await client.graphql<{ instances: { id: string; name: string }[] | null }>(NAMES);
  return new Map((instances ?? []).map(({ id, name }) => [id, name]));
}
