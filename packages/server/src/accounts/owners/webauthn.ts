import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'

/** The service that registers and accepts passkeys (WebAuthn Level 3 section 4: Relying Party). */
export interface RelyingParty {
  /** The host name, to which passkeys are bound. */
  readonly id: string
  readonly origin: string
  /** The name that browsers show. */
  readonly name: string
}

/** A passkey as it is stored. */
export interface Credential {
  /** base64url */
  readonly id: string
  /** COSE_Key */
  readonly publicKey: Uint8Array
  readonly counter: number
  readonly transports: readonly string[]
  /** Whether it is synchronized to other devices. */
  readonly backedUp: boolean
}

/** COSE algorithm identifiers: EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 300_000
const MAX_TRANSPORTS = 16

/** The passkey is the only factor, so each use must also verify the user, by PIN or biometrics. */
const USER_VERIFICATION = 'required'

/** Loaded with the first passkey, to start faster. */
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/**
 * Options for `navigator.credentials.create`, for a discoverable credential without attestation.
 * @param existing the account's passkeys, which the authenticator must not register again
 */
export async function registrationOptions(
  relyingParty: RelyingParty,
  user: {
    /** At most 64 random bytes. */
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

/** Options for `navigator.credentials.get`. The user chooses the passkey. */
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
 * Verifies the registration of a passkey (WebAuthn Level 3 section 7.1).
 * @param challenge base64url, as in the options
 * @param response from the browser, unverified
 * @returns null if it is not valid
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
 * Verifies an authentication with a passkey, including its signature counter (WebAuthn Level 3 section 7.2).
 * @param challenge base64url, as in the options
 * @param response from the browser, unverified
 * @returns the values to store, or null if it is not valid
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
 * Removes the attestation, which was not requested. The library would otherwise parse attacker-chosen certificates and
 * fetch the revocation lists that they name.
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

/** Keeps only plausible transport hints. Unknown values are allowed (section 5.8.4). */
function transportsOf(reported: unknown): string[] {
  if (!Array.isArray(reported)) return []
  return reported
    .filter((each) => typeof each === 'string' && /^[a-z-]{1,32}$/.test(each))
    .slice(0, MAX_TRANSPORTS)
}

/** The library throws for most invalid responses, and for values that are not a response at all. */
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
