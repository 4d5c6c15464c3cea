import { afterAll, describe, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { cleanUp, startProcess } from '../../support/process.js';

afterAll(cleanUp);

describe('a gateway without metrics', () => {
  it('loads neither prom-client nor OpenTelemetry', async () => {
    const report =
      'data:text/javascript,' +
      encodeURIComponent(
        `import { createRequire } from 'node:module';
       process.on('SIGUSR2', () => console.error(JSON.stringify({ level: 30, loaded: Object.keys(createRequire('file:///').cache).filter((path) => /prom-client|opentelemetry/.test(path)) })));`,
      );
    const gateway = await startProcess(
      { DATABASE_URL: await createTestDatabase() },
      { nodeOptions: ['--import', report] },
    );
    gateway.signal('SIGUSR2');
    await gateway.says(/"loaded":\[\]/);
  });
});
