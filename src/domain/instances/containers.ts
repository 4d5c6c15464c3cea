import type { Write } from '../billing/ledger.js';
import type { Launch } from '../kernel/launch.js';
import type { Instance } from '../kernel/lifecycle.js';
import { overlapping } from '../kernel/machine-condition.js';
import { formatInstant } from '../kernel/time.js';

/**
 * Makes the machine's agent run a container for a new instance, using the current version of the instance's template.
 */
export function beginContainer(current: Write, instance: Instance, launch: Launch = {}): void {
  // Flushed first, because the container row refers to the instance row.
  current.flush();
  const { id, hostId, template } = instance;
  const { env = {}, ports = [], entrypoint, command } = launch;
  // With a custom entrypoint, the template's default command isn't used.
  const hasCommand = command !== undefined || entrypoint !== undefined;
  current.transaction.later({
    name: 'begin-container',
    text: BEGIN_CONTAINER,
    values: [
      id,
      hostId,
      template,
      JSON.stringify(env),
      String(hasCommand),
      command === undefined ? null : JSON.stringify(command),
      ports.map(({ port }) => String(port)),
      JSON.stringify(Object.fromEntries(ports.filter(({ name }) => name).map(({ port, name }) => [port, name]))),
    ],
  });
}

/**
 * Records another start of an instance. Has no effect if the instance was deployed before its machine had an agent,
 * because such an instance has no container.
 */
export function beginContainerStart({ transaction }: Pick<Write, 'transaction'>, { id, gpuIntervals }: Instance): void {
  transaction.later({ name: 'begin-container-start', text: BEGIN_START, values: [id, gpuIntervals] });
}

/** Starts tracking idle time for an instance that stops when idle. */
export function watchIdle(current: Pick<Write, 'transaction' | 'flush' | 'at'>, { id }: Instance): void {
  // Flushed first, because the new row refers to the instance row.
  current.flush();
  current.transaction.later({ name: 'watch-idle', text: WATCH_SQL, values: [id, formatInstant(current.at)] });
}

/** SQL for whether any other container of the same account may still be using the instance's GPUs. */
const OWN_CONTAINER_EXISTS = `exists (
  select from container other join instance mine on mine.id = other.instance_id
  where other.machine_id = coalesce(instance.host_id, instance.machine_id) and ${overlapping('mine', 'instance')}
    and mine.account_id = instance.account_id and other.erased_at is null
    and other.told_start > 0
    and not (other.start >= other.told_start and other.phase in ('STOPPED', 'FAILED', 'ERASED', 'EXITED')))`;

/** SQL for whether the renter supplied no input that could make the start fail. */
const IS_UNMODIFIED_TEMPLATE = `not exists (
  select from instance_launch where instance_id = instance.id and launch ?| '{entrypoint,command,secrets,registryLogin,user}')`;

/**
 * Inserts the container. A template name that isn't a known slug is an image reference. Images with their own SSH
 * server receive the renter's ten newest public keys.
 */
const BEGIN_CONTAINER = `
  with keys as (
    select string_agg(type || ' ' || translate(encode(blob, 'base64'), E'\\n', '') || ' ' || comment, E'\\n') as lines
    from (
      select ssh_key.* from ssh_key join instance on instance.account_id = ssh_key.account_id
      where instance.id = $1 and ssh_key.instance_id is null
      order by ssh_key.created_at desc, ssh_key.id limit 10
    ) ssh_key
  ), made as (
    insert into container (instance_id, machine_id, image, command, env, ports, port_names, path)
    select $1, $2, coalesce(image, wanted.template), case when $5::boolean then $6::jsonb else command end,
      coalesce(env, '{}') || $4::jsonb
        || coalesce((select jsonb_build_object('SSH_PUBLIC_KEYS', lines) from keys where lines is not null), '{}'),
      coalesce(ports, '{}') || array(select port::int from unnest($7::text[]) as port where port::int <> all(coalesce(ports, '{}'))),
      coalesce(port_names, '{}') || $8::jsonb, coalesce(path, '/')
    from (select $3::text as template) wanted left join template on slug = wanted.template
  )
  insert into container_start (instance_id, ordinal, operator_image, waits_for_own)
  select id, 1, exists (select from template where slug = instance.template) and ${IS_UNMODIFIED_TEMPLATE}, ${OWN_CONTAINER_EXISTS}
  from instance where id = $1`;
const BEGIN_START = `
  insert into container_start (instance_id, ordinal, operator_image, waits_for_own)
  select id, $2::int, exists (select from template where slug = instance.template and template.image = container.image)
    and ${IS_UNMODIFIED_TEMPLATE}, ${OWN_CONTAINER_EXISTS}
  from instance join container on instance_id = id where id = $1`;

const WATCH_SQL = `
  insert into idle_watch (instance_id, asked_at) values ($1, $2::timestamptz)
  on conflict (instance_id) do update set asked_at = excluded.asked_at`;
