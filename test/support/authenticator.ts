import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** Deviations from a correct ceremony, by a foreign page or a faulty authenticator. */
export interface Misconduct {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly userVerified?: boolean
  readonly counter?: number
  readonly userHandle?: string
}

export interface Passkey {
  readonly id: Buffer
  readonly key: KeyObject
  readonly rpId: string
  readonly userHandle: string
  counter: number
}

interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id: string }
  readonly user: { readonly id: string }
}

interface RequestOptions {
  readonly challenge: string
  readonly rpId: string
}

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const ATTESTED = 0x40

const newP256Key = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** A software authenticator and its browser: discoverable credentials, attestation "none" (WebAuthn Level 3). */
export class Authenticator {
  readonly #origin: string
  readonly #newKey: () => KeyObject
  readonly passkeys: Passkey[] = []

  /** @param newKey makes P-256 or Ed25519 keys */
  constructor(origin: string, newKey = newP256Key) {
    this.#origin = origin
    this.#newKey = newKey
  }

  /** `navigator.credentials.create`, with options and credential as JSON. */
  create(options: unknown, wrong: Misconduct = {}): Record<string, unknown> {
    const { challenge, rp, user } = options as CreationOptions
    const key = this.#newKey()
    const rpId = wrong.rpId ?? rp.id
    const passkey = { id: randomBytes(32), key, rpId, userHandle: user.id, counter: 0 }
    this.passkeys.push(passkey)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(passkey.id.length)
    const authData = Buffer.concat([
      authenticatorData(rpId, flagsOf(wrong) | ATTESTED, wrong.counter ?? 0),
      Buffer.alloc(16),
      length,
      passkey.id,
      coseOf(key),
    ])
    // CBOR: {fmt: 'none', attStmt: {}, authData}. The length of authData fits in one byte.
    const attestation = Buffer.concat([
      Buffer.from('\xa3cfmtdnonegattStmt\xa0hauthData\x58', 'latin1'),
      Buffer.from([authData.length]),
      authData,
    ])
    return credential(passkey.id, {
      clientDataJSON: this.#clientData('webauthn.create', challenge, wrong),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** `navigator.credentials.get`, with options and credential as JSON. @param passkey by default the last one created */
  get(
    options: unknown,
    wrong: Misconduct = {},
    passkey = this.passkeys.at(-1) as Passkey,
  ): Record<string, unknown> {
    const { challenge, rpId } = options as RequestOptions
    passkey.counter = wrong.counter ?? passkey.counter + 1
    const clientDataJSON = this.#clientData('webauthn.get', challenge, wrong)
    const authData = authenticatorData(wrong.rpId ?? rpId, flagsOf(wrong), passkey.counter)
    const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
    return credential(passkey.id, {
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: signWith(passkey.key, Buffer.concat([authData, hash])).toString('base64url'),
      userHandle: wrong.userHandle ?? passkey.userHandle,
    })
  }

  #clientData(type: string, challenge: string, wrong: Misconduct): string {
    const data = {
      type,
      challenge: wrong.challenge ?? challenge,
      origin: wrong.origin ?? this.#origin,
      crossOrigin: false,
    }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }
}

/** The public key in COSE (RFC 9053), in CBOR. */
function coseOf(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' }) as { x: string; y?: string }
  // kty OKP, alg EdDSA, crv Ed25519, x; or kty EC2, alg ES256, crv P-256, x, y.
  const start = y === undefined ? 'a4010103272006215820' : 'a5010203262001215820'
  const parts = [Buffer.from(start, 'hex'), Buffer.from(x, 'base64url')]
  if (y !== undefined) parts.push(Buffer.from('225820', 'hex'), Buffer.from(y, 'base64url'))
  return Buffer.concat(parts)
}

function signWith(key: KeyObject, message: Buffer): Buffer {
  return sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', message, key)
}

function flagsOf({ userVerified = true }: Misconduct): number {
  return USER_PRESENT | (userVerified ? USER_VERIFIED : 0)
}

function authenticatorData(rpId: string, flags: number, counter: number): Buffer {
  const rest = Buffer.alloc(5)
  rest.writeUInt8(flags)
  rest.writeUInt32BE(counter, 1)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), rest])
}

function credential(id: Buffer, response: object): Record<string, unknown> {
  const name = id.toString('base64url')
  return {
    id: name,
    rawId: name,
    type: 'public-key',
    response,
    clientExtensionResults: {},
    authenticatorAttachment: 'platform',
  }
}
