import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'

/** Who asks for passkeys (WebAuthn Level 3 section 4: Relying Party). */
export interface RelyingParty {
  /** The host name: a passkey is bound to it. */
  readonly id: string
  readonly origin: string
  /** What people read. */
  readonly name: string
}

/** A passkey as it is kept. */
export interface Credential {
  /** base64url */
  readonly id: string
  /** COSE */
  readonly publicKey: Uint8Array
  readonly counter: number
  readonly transports: readonly string[]
  /** Whether it is synchronised to other devices. */
  readonly backedUp: boolean
}

/** EdDSA, ES256, RS256 (COSE): what authenticators have. */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 300_000
const MOST_TRANSPORTS = 16

/**
 * The user is asked to unlock the device each time: a passkey is the only thing that is asked for here, so it has to
 * stand for something that one has and for something that one knows or is.
 */
const USER_VERIFICATION = 'required'

/** Loaded with the first passkey: a service starts sooner without. */
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/** Options for `navigator.credentials.create`: a discoverable credential, without attestation. */
export async function registrationOptions(
  relyingParty: RelyingParty,
  user: {
    /** At most 64 bytes that say nothing about the person. */
    readonly handle: Uint8Array
    readonly username: string
    readonly displayName: string
  },
  challenge: Uint8Array,
  existing: readonly Pick<Credential, 'id' | 'transports'>[],
): Promise<Record<string, unknown>> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpID: relyingParty.id,
    rpName: relyingParty.name,
    userID: bytes(user.handle),
    userName: user.username,
    userDisplayName: user.displayName,
    challenge: bytes(challenge),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: existing.map(({ id, transports }) => ({
      id,
      transports: [...transports],
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: USER_VERIFICATION },
    supportedAlgorithmIDs: ALGORITHMS,
  })
  return { ...options }
}

/** Options for `navigator.credentials.get`: whichever passkey the person chooses. */
export async function authenticationOptions(
  relyingParty: RelyingParty,
  challenge: Uint8Array,
): Promise<Record<string, unknown>> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: relyingParty.id,
    challenge: bytes(challenge),
    timeout: TIMEOUT_MS,
    userVerification: USER_VERIFICATION,
  })
  return { ...options }
}

/**
 * Checks a new passkey (WebAuthn Level 3 section 7.1).
 * @param challenge base64url, as it was in the options
 * @param response what the browser sent, unchecked
 * @returns null where anything about it is wrong
 */
export async function verifyRegistration(
  relyingParty: RelyingParty,
  challenge: string,
  response: unknown,
): Promise<Credential | null> {
  const { verifyRegistrationResponse } = await library()
  const result = await orNull(async () =>
    verifyRegistrationResponse({
      response: await withoutAttestation(response as RegistrationResponseJSON),
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (result === null || !result.verified) return null
  const { credential, credentialBackedUp } = result.registrationInfo
  return {
    id: credential.id,
    publicKey: credential.publicKey,
    counter: credential.counter,
    transports: transportsOf(credential.transports),
    backedUp: credentialBackedUp,
  }
}

/**
 * Checks the use of a passkey (WebAuthn Level 3 section 7.2), its signature counter included.
 * @param challenge base64url, as it was in the options
 * @param response what the browser sent, unchecked
 * @returns null where anything about it is wrong
 */
export async function verifyAuthentication(
  relyingParty: RelyingParty,
  challenge: string,
  response: unknown,
  credential: Credential,
): Promise<Pick<Credential, 'counter' | 'backedUp'> | null> {
  const { verifyAuthenticationResponse } = await library()
  const result = await orNull(() =>
    verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      requireUserVerification: true,
      credential: {
        id: credential.id,
        publicKey: bytes(credential.publicKey),
        counter: credential.counter,
        transports: [...credential.transports],
      },
    }),
  )
  if (result === null || !result.verified) return null
  const { newCounter, credentialBackedUp } = result.authenticationInfo
  return { counter: newCounter, backedUp: credentialBackedUp }
}

/**
 * A response as if it had come without attestation, which is all that was asked for. The library would look at
 * certificates of strangers and fetch the revocation lists that they name.
 */
async function withoutAttestation(
  credential: RegistrationResponseJSON,
): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await helpers()
  const { response } = credential
  const attested = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject))
  const none = isoCBOR.encode(
    new Map<string, string | Uint8Array | Map<string, never>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', attested.get('authData')],
    ]),
  )
  return {
    ...credential,
    response: { ...response, attestationObject: isoBase64URL.fromBuffer(none) },
  }
}

/** What a browser says of the ways to an authenticator: hints, those unknown today too (section 5.8.4), and no more. */
function transportsOf(said: unknown): string[] {
  if (!Array.isArray(said)) return []
  return said
    .filter((each) => typeof each === 'string' && /^[a-z-]{1,32}$/.test(each))
    .slice(0, MOST_TRANSPORTS)
}

/** The library throws for most of what can be wrong, and for what is no response at all. */
async function orNull<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify()
  } catch {
    return null
  }
}

function bytes(value: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(value)
}
