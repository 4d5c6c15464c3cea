import { expect, it } from 'vitest';
import { refusalOf } from '../../../src/access/tunnels.js';

const FULL = 'too many tunnels are open; try again later';

it("each instance can open 64 tunnels even if two others exhaust the host's limit", () => {
  expect(refusalOf({ ofInstance: 255, ofHost: 511, ofProcess: 511 })).toBeNull();
  expect(refusalOf({ ofInstance: 256, ofHost: 256, ofProcess: 256 })).toBe(
    'the instance has 256 open tunnels, the maximum; close one first',
  );
  expect(refusalOf({ ofInstance: 64, ofHost: 512, ofProcess: 512 })).toBe(FULL);
  for (const ofHost of [512, 900]) expect(refusalOf({ ofInstance: 63, ofHost, ofProcess: ofHost })).toBeNull();
  expect(refusalOf({ ofInstance: 0, ofHost: 0, ofProcess: 5_000 })).toBe(FULL);
});
