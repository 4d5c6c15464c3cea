import { describe, expect, it } from 'vitest';
import { checkDisk, diskLeftGb, usedDiskGb } from '../../src/domain/rules/disk.js';

const liveInstances = [
  { status: 'RUNNING', diskGb: 60 },
  { status: 'STOPPED', diskGb: 30 },
  { status: 'DESTROYED', diskGb: 500 },
] as const;

describe('the disk of a machine', () => {
  it('is used by running and stopped instances, not by destroyed ones', () => {
    expect(usedDiskGb(liveInstances)).toBe(90);
    expect(usedDiskGb([])).toBe(0);
  });

  it('has nothing left, rather than less, when it is smaller than what is used', () => {
    expect(diskLeftGb(100, 90)).toBe(10);
    expect(diskLeftGb(90, 90)).toBe(0);
    expect(diskLeftGb(80, 90)).toBe(0);
  });

  it('takes a new disk of all that is left, and refuses one GB more', () => {
    const machine = { id: 'm-1', diskGb: 100, hostDiskGb: 100, liveInstances };
    expect(() => checkDisk(machine, 10)).not.toThrow();
    const refused = () => checkDisk(machine, 11);
    expect(refused).toThrow('machine m-1 has 10 GB of disk left, less than the 11 asked for');
    expect(refused).toThrow(expect.objectContaining({ code: 'deploy_failed' }));
  });

  it('is its share of the host, or what the host has left', () => {
    const slice = { id: 'm-1', diskGb: 100, liveInstances };
    expect(() => checkDisk({ ...slice, hostDiskGb: 400 }, 100)).not.toThrow();
    expect(() => checkDisk({ ...slice, hostDiskGb: 400 }, 101)).toThrow('has 100 GB of disk left');
    expect(() => checkDisk({ ...slice, hostDiskGb: 120 }, 31)).toThrow('has 30 GB of disk left');
  });
});
