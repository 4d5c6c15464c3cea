import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

type Cbor = number | string | Buffer | Map<number | string, Cbor>;

const [USER_PRESENT, USER_VERIFIED, HAS_CREDENTIAL] = [0x01, 0x04, 0x40];

/** Values that the browser and the authenticator put into a response. Omitted values are those of an honest one. */
export interface Response {
  origin: string;
  challenge: string;
  type: string;
  host: string;
  isVerified: boolean;
  count: number;
  userHandle: string;
  /** Format of the authenticator's statement about its make. */
  format: string;
}

interface CreationOptions {
  challenge: string;
  rp: { id?: string };
  user: { id: string };
}

interface RequestOptions {
  challenge: string;
  rpId?: string;
}

/** An authenticator with one passkey (P-256), and the browser in front of it. */
export class SoftwarePasskey {
  readonly id: Buffer;
  readonly #publicKey: KeyObject;
  readonly #privateKey: KeyObject;
  #userHandle = '';
  count = 0;

  constructor(id: Buffer = randomBytes(16)) {
    this.id = id;
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#publicKey = publicKey;
    this.#privateKey = privateKey;
  }

  /** Returns the response to the service's creation options, as the console sends it. */
  create({ challenge, rp, user }: CreationOptions, origin: string, forged: Partial<Response> = {}) {
    const { host = rp.id!, isVerified, count = this.count, format = 'none' } = forged;
    this.#userHandle = user.id;
    const attested = Buffer.concat([Buffer.alloc(16), uint16(this.id.length), this.id, encode(this.#coseKey())]);
    const authData = authenticatorData({ host, isVerified, count }, attested);
    const attestation = new Map<string, Cbor>([
      ['fmt', format],
      ['attStmt', new Map(format === 'none' ? [] : [['sig', Buffer.from('not checked')]])],
      ['authData', authData],
    ]);
    return this.createdWith(encode(attestation), clientData('webauthn.create', { challenge, origin, ...forged }));
  }

  /** Returns a creation response with any attestation object. */
  createdWith(attestation: Buffer, client: Buffer) {
    const response = { clientDataJSON: base64url(client), attestationObject: base64url(attestation) };
    return { id: base64url(this.id), response };
  }

  /** Returns the response to the service's sign-in options, as the console sends it. */
  get({ challenge, rpId }: RequestOptions, origin: string, forged: Partial<Response> = {}) {
    const { host = rpId!, isVerified, count = this.count, userHandle = this.#userHandle } = forged;
    const client = clientData('webauthn.get', { challenge, origin, ...forged });
    const authData = authenticatorData({ host, isVerified, count });
    const signed = Buffer.concat([authData, createHash('sha256').update(client).digest()]);
    const response = {
      clientDataJSON: base64url(client),
      authenticatorData: base64url(authData),
      signature: base64url(sign('sha256', signed, this.#privateKey)),
      userHandle,
    };
    return { id: base64url(this.id), response };
  }

  #coseKey(): Cbor {
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' });
    const [ec2, es256, p256] = [2, -7, 1];
    return new Map<number, Cbor>([
      [1, ec2],
      [3, es256],
      [-1, p256],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]);
  }
}

interface AuthenticatorState {
  host: string;
  isVerified: boolean | undefined;
  count: number;
}

function authenticatorData({ host, isVerified = true, count }: AuthenticatorState, attested?: Buffer): Buffer {
  const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | (attested === undefined ? 0 : HAS_CREDENTIAL);
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(count);
  const hash = createHash('sha256').update(host).digest();
  return Buffer.concat([hash, Buffer.from([flags]), counter, attested ?? Buffer.alloc(0)]);
}

function clientData(usualType: string, { type = usualType, challenge, origin }: Partial<Response>): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

export function base64url(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

/** Encodes the parts of CBOR that authenticators use. */
export function encode(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const entries = [...value].flatMap(([key, each]) => [encode(key), encode(each)]);
  return Buffer.concat([head(5, value.size), ...entries]);
}

function head(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  if (length < 256) return Buffer.from([type | 24, length]);
  return Buffer.concat([Buffer.from([type | 25]), uint16(length)]);
}
