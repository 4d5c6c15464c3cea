import { PullFault } from './engine.js';

const DENIED = 'the registry has no such image, or requires a login for it';
const LOGIN_DENIED = 'the registry rejected the login, or has no such image for it';

/**
 * Reasons for an engine's pull errors. The first match applies. The original error may contain responses from a
 * registry, or from any address to which the registry redirects the engine, so renters only get one of these reasons.
 */
const MEANINGS: readonly [pattern: RegExp, reason: string, rest?: { final?: true; unreachable?: true }][] = [
  [
    /connection refused|no route to host|network is unreachable|no such host/i,
    'the registry is unreachable',
    { unreachable: true },
  ],
  [
    /i\/o timeout|timeout exceeded|handshake timeout|connection reset|unexpected EOF/i,
    'the registry is not responding',
  ],
  [/toomanyrequests|too many requests/i, 'the registry is rate-limiting pulls'],
  [/denied|unauthorized|authentication required|no basic auth credentials|forbidden/i, DENIED, { final: true }],
  [
    /no matching manifest|no image found|unsupported|cannot be used on this platform/i,
    "the image does not support this machine's architecture",
    { final: true },
  ],
  [/invalid reference|invalid repository name/i, 'the image name is invalid', { final: true }],
  [
    /x509|certificate|server gave HTTP response/i,
    'the registry does not use TLS with a trusted certificate',
    { final: true },
  ],
  [
    /manifest unknown|name unknown|not found|does not exist|no such image/i,
    'the registry has no such image',
    { final: true },
  ],
  [/no space left/i, 'the host has no disk space left for the image'],
];

export function pullFault(text: string, hasLogin: boolean): PullFault {
  const [, reason, rest] = MEANINGS.find(([pattern]) => pattern.test(text)) ?? [null, 'the image could not be pulled'];
  return new PullFault(hasLogin && reason === DENIED ? LOGIN_DENIED : reason, { detail: text, ...rest });
}
