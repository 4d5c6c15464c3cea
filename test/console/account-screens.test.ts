import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCREENS } from '../../src/http/console/page.js';
import { OpenConsole } from '../support/console/open-console.js';
import { checkScreens } from '../support/console/screen-check.js';
import { openTenant } from '../support/console/walk.js';
import { needs } from '../support/tools.js';

const LONG_MS = 600_000;
/** Covers the account's screens. screens.test.ts covers those of the market. */
const OF_THE_MARKET = ['/machines', '/deploy', '/launch', '/sign-in'];

describe('the account screens', needs('chromium'), () => {
  let here: OpenConsole;

  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it(
    'pass axe, fit the window, honor reduced motion and work without a mouse',
    async () => {
      const addresses = SCREENS.filter((each) => !OF_THE_MARKET.includes(each));
      expect(addresses.length).toBe(SCREENS.length - OF_THE_MARKET.length);
      const tenant = await openTenant(here);
      const paths = await checkScreens(here, tenant, addresses);
      for (const tab of ['terminal', 'files', 'log']) expect(paths).toContain(`/instances/${tenant.id}?tab=${tab}`);
    },
    LONG_MS,
  );
});
