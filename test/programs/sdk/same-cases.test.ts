import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type DeployRequest, type GpuError, type InstanceAction } from '../../../src/client/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { gpu } from '../../support/cli/command.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import {
  ACTION,
  ACTIONS,
  BALANCE,
  DEPLOY,
  DEPLOY_INPUT,
  DESTROYED,
  deployInput,
  INSTANCE,
  type Mapping,
  OFFER,
  OFFER_ARGUMENTS,
  OFFERS,
  selection,
  toGraphqlSpelling,
} from '../../support/surfaces.js';
import { needs } from '../../support/tools.js';

// biome-ignore lint/suspicious/noExplicitAny: answers have as many shapes as there are cases
type Json = any;
type Fields = Record<string, string | number>;

/** A renter's calls, with arguments in REST's spelling. A refused call rejects with the error message. */
interface RestCalls {
  offers(filter: Fields): Promise<Json>;
  balance(): Promise<Json>;
  deploy(request: Fields): Promise<Json>;
  show(id: string): Promise<Json>;
  action(id: string, action: string): Promise<Json>;
  destroy(id: string): Promise<Json>;
}

/** The same calls with responses in GraphQL's spelling. */
type Surface = RestCalls;

/** A renter's state on one surface. */
interface Life {
  surface: Surface;
  machineId: string;
  /** The instance's id once it is deployed. */
  id?: string;
}

/** Maps REST's field names to GraphQL's. */
const NAMES: Record<string, string> = { ...OFFER_ARGUMENTS, ...DEPLOY_INPUT };

const SURFACES = ['GraphQL', 'REST', 'CLI', 'TypeScript SDK', 'Python SDK'] as const;
type SurfaceName = (typeof SURFACES)[number];

let service: Service;
let python: Python;
const lives = {} as Record<SurfaceName, Life>;

describe('REST, GraphQL, the command line and both SDKs', needs('python3'), () => {
  beforeAll(async () => {
    service = await startService();
    python = new Python(`${service.address}/v1`);
    const surfaces: Record<SurfaceName, (renter: Renter) => Surface> = {
      GraphQL: overGraphql,
      REST: (renter) => inRestWords(overRest(renter)),
      CLI: (renter) => inRestWords(overCli(renter)),
      'TypeScript SDK': (renter) => inRestWords(overTypescript(renter)),
      'Python SDK': (renter) => inRestWords(overPython(renter)),
    };
    for (const name of SURFACES)
      lives[name] = { surface: surfaces[name](await service.renter()), machineId: await service.machine() };
  });
  afterAll(async () => {
    await python?.close();
    await service?.close();
    await cleanUp();
  });

  it.each([
    { gpu: 'rtx-4090', limit: 3 },
    { region: 'us-tx', num_min: 4, price_max: 20.5 },
    { gpu: 'RTX 4090', limit: 1 },
  ] as Fields[])('list the same offers for %j', async (filter) => {
    const listed = await onEach(({ surface }) => surface.offers(filter));
    expect(listed.GraphQL).toMatch(/machineId/);
    expectSame(listed);
  });

  it('rent, stop, start and destroy in the same way, at the same cost', async () => {
    expectSame(
      await onEach(async (life) => {
        const { surface, machineId } = life;
        const instance = await surface.deploy({ machine_id: machineId, type: 'res', disk_gb: 77, template: 'jupyter' });
        life.id = instance.id;
        return instance;
      }),
    );
    const steps = [
      ['STOPPED', ({ surface, id }: Life) => surface.action(id!, 'stop')],
      ['RUNNING', ({ surface, id }: Life) => surface.action(id!, 'start')],
      ['DESTROYED', ({ surface, id }: Life) => surface.destroy(id!)],
    ] as const;
    for (const [status, step] of steps) {
      service.clock.advance(61);
      const done = await onEach(step);
      expect(done.GraphQL).toContain(status);
      expectSame(done);
      expectSame(await onEach(({ surface, id }) => surface.show(id!)));
    }
    const balances = await onEach(({ surface }) => surface.balance());
    expect(JSON.parse(balances.GraphQL).balance).toBeLessThan(100);
    expectSame(balances);
  });

  it.each<[string, (life: Life) => Promise<unknown>]>([
    ['a machine that does not exist', ({ surface }) => surface.deploy({ machine_id: 'm-unknown' })],
    ['a disk below its bounds', ({ surface, machineId }) => surface.deploy({ machine_id: machineId, disk_gb: 0 })],
    [
      'a template that is neither slug nor image',
      ({ surface, machineId }) => surface.deploy({ machine_id: machineId, template: 'Not A Slug' }),
    ],
    ['a price below zero', ({ surface }) => surface.offers({ price_max: -1 })],
    ['to stop an instance that does not exist', ({ surface }) => surface.action('i-00000000', 'stop')],
    ['to start a destroyed instance', ({ surface, id }) => surface.action(id!, 'start')],
    ['to destroy it again', ({ surface, id }) => surface.destroy(id!)],
  ])('refuse %s with the same message', async (_, attempt) => {
    const messages = await onEach((life) =>
      attempt(life).then(
        () => 'nothing was refused',
        (error: Error) => error.message,
      ),
    );
    expect(messages.GraphQL).not.toContain('nothing was refused');
    expectSame(messages);
  });
});

/** Calls each surface in turn. Returns the responses as text, with the ids that differ replaced. */
async function onEach(call: (life: Life) => Promise<unknown>): Promise<Record<SurfaceName, string>> {
  const answers = {} as Record<SurfaceName, string>;
  for (const name of SURFACES) {
    const life = lives[name];
    const text = JSON.stringify(await call(life), null, 1);
    answers[name] = text.replaceAll(life.machineId, 'MACHINE').replaceAll(life.id ?? 'none', 'INSTANCE');
  }
  return answers;
}

function expectSame(answers: Record<SurfaceName, string>): void {
  for (const name of SURFACES) expect(answers[name], name).toBe(answers.GraphQL);
}

function overGraphql({ graphql }: Renter): Surface {
  const answered = async (query: string, variables: Record<string, unknown> = {}) => {
    const { body } = await graphql(query, variables);
    if (body.errors !== undefined) throw refused(body.errors[0].message, body.errors[0].extensions.code);
    return body.data.result;
  };
  return {
    offers: (filter) => answered(OFFERS, named(filter)),
    balance: () => answered(`{ result: balance ${selection(BALANCE)} }`),
    deploy: (request) => answered(DEPLOY, { input: deployInput(request) }),
    show: (id) => answered(`query ($id: ID!) { result: instance(id: $id) ${selection(INSTANCE)} }`, { id }),
    action: (id, action) => answered(ACTION, { id, action: ACTIONS[action] }),
    destroy: (id) =>
      answered(`mutation ($id: ID!) { result: action(id: $id, action: DESTROY) ${selection(DESTROYED)} }`, { id }),
  };
}

/** Returns a surface with the REST responses translated to GraphQL's spelling. */
function inRestWords(calls: RestCalls): Surface {
  const answered = async (call: Promise<Json>, mapping: Mapping) => {
    const answer = await call.catch((error: Error) => {
      throw new Error(error.message.replace(/^\w+/, (word) => NAMES[word] ?? word));
    });
    return toGraphqlSpelling(answer, mapping);
  };
  return {
    offers: (filter) =>
      answered(
        calls.offers(filter).then(({ data }) => data),
        OFFER,
      ),
    balance: () => answered(calls.balance(), BALANCE),
    deploy: (request) => answered(calls.deploy(request), INSTANCE),
    show: (id) => answered(calls.show(id), INSTANCE),
    action: (id, action) => answered(calls.action(id, action), INSTANCE),
    destroy: (id) => answered(calls.destroy(id), DESTROYED),
  };
}

function overRest({ rest }: Renter): RestCalls {
  const call = async (method: string, path: string, body?: Fields) => {
    const answer = await rest(method, path, body);
    if (answer.status >= 400) throw refused(answer.body.error.message, answer.body.error.code);
    return answer.body;
  };
  return {
    offers: (filter) => call('GET', `/offers?${new URLSearchParams(filter as Record<string, string>)}`),
    balance: () => call('GET', '/balance'),
    deploy: (request) => call('POST', '/instances', request),
    show: (id) => call('GET', `/instances/${id}`),
    action: (id, action) => call('POST', `/instances/${id}/actions`, { action }),
    destroy: (id) => call('DELETE', `/instances/${id}`),
  };
}

function overCli({ key }: Renter): RestCalls {
  const env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: key };
  const call = async (args: string[], options: Fields = {}) => {
    const given = Object.entries(options).map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`);
    const { code, stdout, stderr } = await gpu([...args, '--json', ...given], env);
    if (code !== 0) throw new Error(stderr.replace(/^gpu: /, '').trim());
    return JSON.parse(stdout);
  };
  return {
    offers: (filter) => call(['offers'], filter),
    balance: () => call(['balance']),
    deploy: ({ machine_id: machineId, ...options }) => call(['deploy', String(machineId)], options),
    show: (id) => call(['show', id]),
    action: (id, action) => call([action, id]),
    destroy: (id) => call(['destroy', id, '--yes']),
  };
}

function overTypescript({ key }: Renter): RestCalls {
  const client = createClient({ apiKey: key, baseUrl: `${service.address}/v1` });
  const call = (answer: Promise<Json>) =>
    answer.catch(({ message, code }: GpuError) => {
      throw refused(message, code);
    });
  return {
    offers: (filter) => call(client.offers.list(filter)),
    balance: () => call(client.balance.get()),
    deploy: (request) => call(client.instances.deploy(request as unknown as DeployRequest)),
    show: (id) => call(client.instances.get(id)),
    action: (id, action) => call(client.instances.action(id, action as InstanceAction)),
    destroy: (id) => call(client.instances.destroy(id)),
  };
}

function overPython({ key }: Renter): RestCalls {
  const call = (method: string, args: string[], options: Fields = {}) => python.call({ key, method, args, options });
  return {
    offers: (filter) => call('offers.list', [], filter),
    balance: () => call('balance.get', []),
    deploy: (request) => call('instances.deploy', [], request),
    show: (id) => call('instances.get', [id]),
    action: (id, action) => call('instances.action', [id, action]),
    destroy: (id) => call('instances.destroy', [id]),
  };
}

/** Returns the message with the code, as the command line prints them. */
function refused(message: string, code: string): Error {
  return new Error(`${message} (${code})`);
}

function named(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [NAMES[name], value]));
}

/** Starts one process with the Python SDK, which reads one call per line and prints the response. */
class Python {
  static readonly #SCRIPT = `
import dataclasses, datetime, decimal, json, sys
from gpu_rental import Client
from gpu_rental.errors import ApiError
def plain(value):
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace('+00:00', 'Z')
    return value
for line in sys.stdin:
    call = json.loads(line)
    method = Client(api_key=call['key'], base_url=sys.argv[1])
    for name in call['method'].split('.'):
        method = getattr(method, name)
    try:
        print(json.dumps({'answer': plain(method(*call['args'], **call['options']))}), flush=True)
    except ApiError as error:
        print(json.dumps({'message': error.message, 'code': error.code}), flush=True)`;

  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(baseUrl: string) {
    const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python'), PYTHONDONTWRITEBYTECODE: '1' };
    const program = process.env.PYTHON || 'python3';
    this.#process = spawn(program, ['-c', Python.#SCRIPT, baseUrl], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]();
  }

  async call(call: { key: string; method: string; args: string[]; options: Fields }): Promise<Json> {
    this.#process.stdin!.write(`${JSON.stringify(call)}\n`);
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error('Python has ended');
    const { answer, message, code } = JSON.parse(value);
    if (message !== undefined) throw refused(message, code);
    return answer;
  }

  async close(): Promise<void> {
    const closed = once(this.#process, 'close');
    this.#process.stdin!.end();
    await closed;
  }
}
