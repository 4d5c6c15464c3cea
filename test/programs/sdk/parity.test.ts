import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { STATUS_OF } from '../../../src/domain/kernel/errors.js';
import { prepareRoutes } from '../../../src/rest/adapter.js';
import { openApi } from '../../../src/rest/openapi.js';
import { buildSchema } from '../../../src/schema/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { dereferenced } from '../../support/openapi.js';
import { type Json, OPERATIONS, readOperations } from '../../support/operations.js';
import { needs } from '../../support/tools.js';

const run = promisify(execFile);
const FACTS = { serverUrl: '/v1', contactUrl: '/', refusals: STATUS_OF, offered: null };

test('the Python SDK covers all operations, parameters and error codes', needs('python3'), async () => {
  const script = `
import inspect, json
from gpu_rental import Client
from gpu_rental.errors import BY_CODE
client = Client()
methods = ${JSON.stringify(Object.values(OPERATIONS).map(({ python }) => python))}
def method(path):
    group, name = path.split('.')
    return getattr(getattr(client, group), name)
print(json.dumps({'codes': list(BY_CODE), 'methods': {path: list(inspect.signature(method(path)).parameters) for path in methods}}))`;
  const python = process.env.PYTHON || 'python3';
  const document = dereferenced<Json>(openApi(prepareRoutes(buildSchema()), FACTS));
  const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python'), PYTHONDONTWRITEBYTECODE: '1' };
  const told = await run(python, ['-c', script], { env });
  const { codes, methods } = JSON.parse(told.stdout);
  expect(codes.sort()).toEqual([...document.components.schemas.Error.properties.error.properties.code.enum].sort());
  for (const { id, names } of readOperations(document)) {
    const parameters = names.map((name) => name.toLowerCase().replaceAll('-', '_'));
    // The word `from` is reserved in Python.
    const named = methods[OPERATIONS[id]!.python].map((name: string) => name.replace(/_$/, ''));
    expect(named.sort(), id).toEqual(parameters.sort());
  }
});
