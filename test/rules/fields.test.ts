import { expect, it } from 'vitest';
import { accountFields } from '../../src/domain/accounts/fields.js';
import { instanceFields } from '../../src/domain/instances/fields.js';
import { check, type Field } from '../../src/domain/kernel/field.js';
import { commonFields } from '../../src/domain/kernel/fields.js';
import { volumeFields } from '../../src/domain/volumes/fields.js';

const VOLUME = 'v-31f72534';
const AT = (path: unknown) => [{ id: VOLUME, path }];

it.each<[string, Field<unknown>, unknown, string]>([
  ['volumes', volumeFields.volumes, AT('data'), 'volumes[0].path must begin with a slash, such as /data'],
  ['volumes', volumeFields.volumes, AT('/data/'), 'volumes[0].path must not end with a slash'],
  ['volumes', volumeFields.volumes, AT('/a/../b'), 'volumes[0].path must not have an empty part, . or ..'],
  ['volumes', volumeFields.volumes, AT('/a//b'), 'volumes[0].path must not have an empty part, . or ..'],
  ['volumes', volumeFields.volumes, AT('/etc'), 'volumes[0].path must not be /etc: the container needs it'],
  [
    'volumes',
    volumeFields.volumes,
    AT('/proc/self'),
    'volumes[0].path must not be below /proc: the container needs it',
  ],
  ['volumes', volumeFields.volumes, AT('/'), 'volumes[0].path must have 2 to 200 characters'],
  ['volumes', volumeFields.volumes, AT(`/${'a'.repeat(200)}`), 'volumes[0].path must have 2 to 200 characters'],
  ['volumes', volumeFields.volumes, AT('/a\u0000'), 'volumes[0].path must not have control characters'],
  ['volumes', volumeFields.volumes, AT(7), 'volumes[0].path must be a path such as /data'],
  [
    'volumes',
    volumeFields.volumes,
    [...AT('/data'), { id: 'v-1', path: '/other' }],
    'volumes[1].id must be a volume id: v- and 8 hexadecimal digits',
  ],
  [
    'volumes',
    volumeFields.volumes,
    [...AT('/data'), { id: 'v-00000000', path: '/data' }],
    'volumes[1].path must differ from the one in entry 0',
  ],
  ['volumes', volumeFields.volumes, [...AT('/a'), ...AT('/b')], 'volumes[1].id must differ from the one in entry 0'],
  ['volumes', volumeFields.volumes, [{ id: VOLUME, mount: '/data' }], 'volumes[0].path must be a path such as /data'],
  [
    'volumes',
    volumeFields.volumes,
    [{ id: VOLUME, path: '/data', readonly: true }],
    'volumes[0] has an unknown member readonly; known: id, path',
  ],
  [
    'volumes',
    volumeFields.volumes,
    'v-1:/data',
    'volumes must be a list of at most 8 volumes, each with its id and its own path such as /data',
  ],
  [
    'secrets',
    instanceFields.launchSecrets,
    [{ secret: 'hf', file: '../f' }],
    'secrets[0].file must be a name of 1 to 63 letters, digits, dots, hyphens and underscores that starts with a letter or digit',
  ],
  ['secrets', instanceFields.launchSecrets, [{ secret: 'hf' }], 'secrets[0] must have either a variable or a file'],
  [
    'secrets',
    instanceFields.launchSecrets,
    [{ secret: 'hf', varible: 'A' }],
    'secrets[0] has an unknown member varible; did you mean variable?',
  ],
  [
    'ports',
    instanceFields.launchPorts,
    [{ port: 1 }, { port: 65_536 }],
    'ports[1].port must be a whole number from 1 to 65535',
  ],
  ['ports', instanceFields.launchPorts, [8080], 'ports[0] must be an object with port, name'],
  ['tcp_ports', instanceFields.tcpPorts, [22, 0], 'tcp_ports[1] must be a whole number from 1 to 65535'],
  [
    'env',
    instanceFields.env,
    { '1A': 'x' },
    'env["1A"] must be a name of 1 to 128 letters, digits and underscores that doesn\'t start with a digit',
  ],
  ['env', instanceFields.env, JSON.parse('{"A":"b","__proto__":"x"}'), 'env.__proto__ must have a different name'],
  ['labels', instanceFields.labels, JSON.parse('{"__proto__":"x"}'), 'labels.__proto__ must have a different name'],
  ['env', instanceFields.env, { A: 'a\0' }, 'env.A must be text without NUL'],
  ['env', instanceFields.env, { A: 1 }, 'env.A must be text without NUL'],
  ['command', instanceFields.command, ['sh', 'a\0'], 'command[1] must be text without NUL'],
  ['gpus', commonFields.gpus, ['l4', ''], 'gpus[1] must be a string of 1 to 64 characters'],
  [
    'networks',
    accountFields.keyNetworks,
    ['10.0.0.0/8', '10.0.0.0/33'],
    'networks[1] must be a network or an address such as 203.0.113.0/24 or 2001:db8::/32',
  ],
])('%s: the error names the invalid entry and explains the fault (%#)', (name, field, value, message) => {
  expect(() => check(name, field, value)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
});

it('error messages quote neither values nor overlong names', () => {
  const secret = 'hunter2';
  const refused = (value: unknown) => {
    try {
      check('env', instanceFields.env, value);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error('it was taken');
  };
  expect(refused({ A: `${secret}\0` })).not.toContain(secret);
  expect(refused({ [`a b${'c'.repeat(10_000)}`]: 'x' }).length).toBeLessThan(200);
});
