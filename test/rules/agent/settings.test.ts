import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/agent/settings.js';
import { MAX_CUT_OFF_SECONDS } from '../../../src/agent-protocol/limits.js';

describe('GPU_AGENT_CUT_OFF_SECONDS', () => {
  const cutOffOf = (text?: string) => readSettings({ GPU_AGENT_CUT_OFF_SECONDS: text }, {}).cutOffSeconds;

  it('is the longest time that volume leases allow, unless it is set to less', () => {
    expect([undefined, '', '1', '899', '900'].map(cutOffOf)).toEqual([900, 900, 1, 899, 900]);
    expect(MAX_CUT_OFF_SECONDS).toBe(900);
  });

  it('is reduced to that time if it is set to more, so that an upgraded agent still runs', () => {
    expect(['901', '86400'].map(cutOffOf)).toEqual([900, 900]);
    const reduced = (text: string) => readSettings({ GPU_AGENT_CUT_OFF_SECONDS: text }, {}).isCutOffReduced;
    expect([reduced('900'), reduced('901')]).toEqual([false, true]);
  });

  it.each(['0', '86401', '1.5', '-1', 'never'])("can't be %s", (text) => {
    expect(() => cutOffOf(text)).toThrow('GPU_AGENT_CUT_OFF_SECONDS must be a whole number from 1 to 86400');
  });
});
