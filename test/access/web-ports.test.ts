import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNot } from '../agent/support/engines.js';
import { follow, visit } from './support/visit.js';
import { WebFleet } from './support/web-fleet.js';

const why = whyNot('podman');

describe.skipIf(why !== null)('web ports', () => {
  let web: WebFleet;
  let cookie: string;

  beforeAll(async () => {
    web = await WebFleet.open();
    cookie = await follow(web.gateways[0]!, await web.link());
  });

  afterAll(() => {
    return web?.close();
  });

  it('serves the first port to who followed the link, over both gateways', async () => {
    for (const gateway of web.gateways) {
      const began = performance.now();
      const { status, text } = await visit(gateway, web.hostOf(), '/echo?a=b', { headers: { cookie } });
      console.log(gateway, performance.now() - began);
      expect(status, text).toBe(200);
      console.log(text);
    }
  });
});
