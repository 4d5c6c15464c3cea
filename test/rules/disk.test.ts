import { describe, expect, it } from 'vitest';
import { checkDisk, checkGrownVolumes, diskLeftGb, usedDiskGb } from '../../src/domain/kernel/disk.js';

const liveInstances = [
  { status: 'RUNNING', diskGb: 60, volumeGb: 0 },
  { status: 'STOPPED', diskGb: 10, volumeGb: 20 },
  { status: 'DESTROYED', diskGb: 500, volumeGb: 500 },
] as const;

describe("a machine's disk", () => {
  it('is used only by running and stopped instances and their volumes', () => {
    expect(usedDiskGb(liveInstances)).toBe(90);
    expect(usedDiskGb([])).toBe(0);
  });

  it('has no space left, rather than a negative amount, if it is overcommitted', () => {
    expect(diskLeftGb(100, 90)).toBe(10);
    expect(diskLeftGb(90, 90)).toBe(0);
    expect(diskLeftGb(80, 90)).toBe(0);
  });

  it('accepts a new disk of exactly the remaining space and rejects one more GB', () => {
    const machine = { id: 'm-1', diskGb: 100, hostDiskGb: 100, liveInstances };
    expect(() => checkDisk(machine, 10)).not.toThrow();
    const refused = () => checkDisk(machine, 11);
    expect(refused).toThrow('machine m-1 has 10 GB of free disk, less than the 11 requested');
    expect(refused).toThrow(expect.objectContaining({ code: 'deploy_failed' }));
  });

  it('must have room for a new disk and its volumes combined', () => {
    const machine = { id: 'm-1', diskGb: 100, hostDiskGb: 100, liveInstances };
    expect(() => checkDisk(machine, 4, 6)).not.toThrow();
    expect(() => checkDisk(machine, 5, 6)).toThrow(
      'machine m-1 has 10 GB of free disk, less than the 11 of disk and volumes',
    );
  });

  it('must have room for grown volumes, but always admits them at their previous size', () => {
    const machine = { id: 'm-1', diskGb: 50, hostDiskGb: 100, liveInstances };
    const [, stopped] = liveInstances;
    expect(() => checkGrownVolumes(machine, stopped, 30)).not.toThrow();
    const refused = () => checkGrownVolumes(machine, stopped, 31);
    expect(refused).toThrow('machine m-1 has 30 GB of free disk for volumes, less than the 31 GB they now need');
    expect(refused).toThrow(expect.objectContaining({ code: 'action_failed' }));
    // The host has shrunk below its used space. Existing instances may still start again.
    expect(() => checkGrownVolumes({ ...machine, hostDiskGb: 60 }, stopped, 20)).not.toThrow();
    expect(() => checkGrownVolumes({ ...machine, hostDiskGb: 60 }, stopped, 21)).toThrow('has 20 GB');
  });

  it("is its share of the host's disk, or the host’s remaining space if that is less", () => {
    const slice = { id: 'm-1', diskGb: 100, liveInstances };
    expect(() => checkDisk({ ...slice, hostDiskGb: 400 }, 100)).not.toThrow();
    expect(() => checkDisk({ ...slice, hostDiskGb: 400 }, 101)).toThrow('has 100 GB of free disk');
    expect(() => checkDisk({ ...slice, hostDiskGb: 120 }, 31)).toThrow('has 30 GB of free disk');
  });
});
