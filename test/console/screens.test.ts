import { afterAll, beforeAll, describe, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { checkScreens } from '../support/console/screen-check.js';
import { openTenant } from '../support/console/walk.js';
import { needs } from '../support/tools.js';

const LONG_MS = 600_000;

describe('the market screens', needs('chromium'), () => {
  let here: OpenConsole;

  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it(
    'pass axe, fit the window, honor reduced motion and need no mouse for a renter',
    async () => checkScreens(here, await openTenant(here), ['/', '/machines', '/deploy', '/launch']),
    LONG_MS,
  );

  it(
    'pass axe, fit the window, honor reduced motion and need no mouse for a visitor',
    // The other screens have the same parts for renters and visitors.
    () => checkScreens(here, null, ['/', '/sign-in', '/billing']),
    LONG_MS,
  );
});
