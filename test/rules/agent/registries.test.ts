import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { PullFault } from '../../../src/agent/engine/engine.js';
import { readImageName } from '../../../src/agent/engine/image-name.js';
import { pullFault } from '../../../src/agent/engine/pull-faults.js';
import { isInside, Registries } from '../../../src/agent/registries.js';

describe('an image name', () => {
  it.each([
    ['nginx', 'docker.io', 'docker.io/library/nginx:latest'],
    ['nginx:1.27', 'docker.io', 'docker.io/library/nginx:1.27'],
    ['pytorch/pytorch:2.9', 'docker.io', 'docker.io/pytorch/pytorch:2.9'],
    ['docker.io/nginx', 'docker.io', 'docker.io/library/nginx:latest'],
    ['index.docker.io/nginx', 'docker.io', 'docker.io/library/nginx:latest'],
    ['ghcr.io/a/b@sha256:0f', 'ghcr.io', 'ghcr.io/a/b@sha256:0f'],
    ['registry.internal:5000/a/b', 'registry.internal:5000', 'registry.internal:5000/a/b:latest'],
    ['localhost/a', 'localhost', 'localhost/a:latest'],
    ['LocalHost/a', 'localhost', 'localhost/a:latest'],
    // Docker treats an uppercase name as a host, even without a dot.
    ['Backup/a', 'backup', 'backup/a:latest'],
    ['127.1:80/a', '127.1:80', '127.1:80/a:latest'],
    // These are ids of images on the host, which don't exist as names on Docker Hub.
    ['sha256:0123456789ab', 'docker.io', 'docker.io/library/sha256:0123456789ab'],
    ['0123456789ab', 'docker.io', 'docker.io/library/0123456789ab:latest'],
  ])('%s refers to the registry %s', (image, registry, reference) => {
    expect(readImageName(image)).toEqual({ registry, reference });
  });

  it.each(['', '../containers', '/a', 'a:b:c/d', '[::1]/a', 'u@h.example/a', 'host:999999/a', 'host.example/', 'a b'])(
    "can't be %j",
    (image) => {
      expect(readImageName(image)).toBeNull();
    },
  );
});

describe('an address', () => {
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.19.0.1',
    '203.0.113.7',
    '2001:db8::1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    'fd00::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'no address',
  ])('%s is internal', (address) => {
    expect(isInside(address)).toBe(true);
  });

  it('of the host itself is always internal', () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    expect(own.filter(({ address }) => !isInside(address))).toEqual([]);
  });

  it.each(['1.1.1.1', '172.15.255.255', '172.32.0.1', '192.167.255.255', '223.255.255.255', '2606:4700::1111'])(
    '%s is public',
    (address) => {
      expect(isInside(address)).toBe(false);
    },
  );
});

describe('a registry', () => {
  const names: Record<string, string[]> = {
    'ghcr.io': ['140.82.112.33', '2606:50c0::1'],
    'inside.example': ['10.0.0.5'],
    'both.example': ['140.82.112.33', '169.254.169.254'],
  };
  const resolve = async (host: string) => {
    const found = names[host];
    const code = host === 'later.example' ? 'EAI_AGAIN' : 'ENOTFOUND';
    if (found === undefined) throw Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code });
    return found;
  };
  const check = (image: string) =>
    new Registries(['Registry.internal:5000', '127.0.0.1:5000'], resolve).check(readImageName(image)!);

  it.each(['nginx', 'ghcr.io/a/b', 'ghcr.io:8443/a', 'registry.INTERNAL:5000/a', '127.0.0.1:5000/a', '1.1.1.1/a'])(
    'is allowed: %s',
    async (image) => {
      await check(image);
    },
  );

  it.each([
    'localhost:5000/a',
    '127.0.0.1/a',
    '127.0.0.1:5001/a',
    '169.254.169.254/latest/meta-data',
    'inside.example/a',
    'both.example/a',
    'registry.internal/a',
  ])('is rejected if any of its addresses is internal: %s', async (image) => {
    names.localhost = ['::1', '127.0.0.1'];
    names['registry.internal'] = ['192.168.7.7'];
    const { registry } = readImageName(image)!;
    const fault = (await check(image).catch((error) => error)) as PullFault;
    expect(fault).toBeInstanceOf(PullFault);
    expect(fault).toMatchObject({
      message: `refusing to pull images from ${registry}: its IP address is not public`,
      detail: expect.stringMatching(
        new RegExp(`^${registry.replaceAll('.', '\\.')} resolves to [0-9.:]+; list it in GPU_AGENT_REGISTRIES`),
      ),
      final: true,
    });
  });

  it('is resolved without its port, unless it is Docker Hub, which is never resolved', async () => {
    const hosts: string[] = [];
    const registries = new Registries([], async (host) => {
      hosts.push(host);
      return ['1.1.1.1'];
    });
    for (const image of ['nginx', 'a1:80.example/b', 'ghcr.io:8443/a']) {
      const name = readImageName(image);
      if (name !== null) await registries.check(name);
    }
    expect(hosts).toEqual(['ghcr.io']);
  });

  it("that can't be resolved is rejected without revealing the resolver's message", async () => {
    const fault = (await check('nowhere.example/a').catch((error) => error)) as PullFault;
    expect(fault).toMatchObject({
      message: 'the registry nowhere.example was not found',
      detail: 'getaddrinfo ENOTFOUND nowhere.example',
      unreachable: true,
    });
    // Here the resolver itself is failing, so the registry may exist.
    await expect(check('later.example/a')).rejects.toMatchObject({ unreachable: false });
  });

  it('written as a number is rejected if it resolves to an internal address', async () => {
    const system = new Registries([]);
    for (const image of ['2130706433:80/a', '127.1/a', '0x7f.1/a']) {
      await expect(system.check(readImageName(image)!)).rejects.toMatchObject({ final: true });
    }
  });
});

describe('the reason for a failed pull', () => {
  it.each([
    ['dial tcp 203.0.113.1:443: connect: connection refused', 'the registry is unreachable', false, true],
    ['manifest for a/b:c not found: manifest unknown', 'the registry has no such image', true, false],
    [
      "pull access denied for a, repository does not exist or may require 'docker login'",
      'the registry has no such image, or requires a login for it',
      true,
      false,
    ],
    ['Get "https://x/v2/": net/http: TLS handshake timeout', 'the registry is not responding', false, false],
    ['toomanyrequests: You have reached your pull rate limit', 'the registry is rate-limiting pulls', false, false],
    ['received unexpected HTTP status: 500 {"secret":"hush"}', 'the image could not be pulled', false, false],
  ])('is recognized in %s', (words, message, final, unreachable) => {
    expect(pullFault(words, false)).toMatchObject({ message, detail: words, final, unreachable, kind: 'refused' });
  });

  it('is the login if one was given and the registry denies access', () => {
    const words = "pull access denied for a, repository does not exist or may require 'docker login'";
    expect(pullFault(words, true).message).not.toBe(pullFault(words, false).message);
    const other = 'manifest for a/b:c not found: manifest unknown';
    expect(pullFault(other, true).message).toBe(pullFault(other, false).message);
  });
});
