import { createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { ProviderFailure, ProviderRefusal } from './provider.ts'

const CLAIM = 'https://vocab.account.gov.uk/v1/coreIdentityJWT'
const REQUESTED_LEVELS = ['P2']
/** Medium confidence and above. */
const ACCEPTED_LEVELS = ['P2', 'P3', 'P4']

/** Parameters of the authorization request that make GOV.UK One Login prove the person's identity. */
export const CORE_IDENTITY_PARAMETERS = {
  vtr: JSON.stringify(REQUESTED_LEVELS.map((level) => `Cl.Cm.${level}`)),
  claims: JSON.stringify({ userinfo: { [CLAIM]: null } }),
}

export interface ExpectedCoreIdentity {
  /** The signer: https://identity.account.gov.uk/ */
  readonly issuer: string
  readonly clientId: string
  readonly subject: string
  readonly timeoutMs: number
  readonly now: Date
}

/**
 * Verifies the core identity JWT of GOV.UK One Login. The ID token says how the person signed in; only this JWT says
 * whether their identity was proved. Its names and dates are not read.
 * @param userInfo the response of the userinfo endpoint
 * @throws ProviderRefusal if there is no core identity or it is not valid, ProviderFailure if the keys cannot be fetched
 */
export async function verifyCoreIdentity(
  userInfo: Readonly<Record<string, unknown>>,
  expected: ExpectedCoreIdentity,
): Promise<void> {
  const token = userInfo[CLAIM]
  if (typeof token !== 'string') {
    throw new ProviderRefusal('GOV.UK One Login could not prove who you are.')
  }
  const keys = await fetchKeys(expected)
  try {
    const { kid } = decodeProtectedHeader(token)
    const { payload } = await jwtVerify(
      token,
      createLocalJWKSet({ keys: keys.filter((key) => key.kid === kid) }),
      {
        issuer: expected.issuer,
        audience: expected.clientId,
        subject: expected.subject,
        algorithms: ['ES256'],
        requiredClaims: ['exp'],
        currentDate: expected.now,
        clockTolerance: 30,
      },
    )
    if (!ACCEPTED_LEVELS.includes(payload.vot as string)) throw new Error('too low')
  } catch {
    throw new ProviderRefusal('The identity proof of GOV.UK One Login is not valid.', {
      reason: 'invalid-response',
    })
  }
}

/** Fetches the keys of the issuer's DID document (did:web), whose `kid` is their full id. */
async function fetchKeys({ issuer, timeoutMs }: ExpectedCoreIdentity): Promise<JWK[]> {
  try {
    const response = await fetch(new URL('/.well-known/did.json', issuer), {
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (!response.ok) throw new Error('not found')
    const { assertionMethod } = (await response.json()) as {
      assertionMethod: { id: string; publicKeyJwk: JWK }[]
    }
    return assertionMethod.map(({ id, publicKeyJwk }) => ({ ...publicKeyJwk, kid: id }))
  } catch {
    throw new ProviderFailure('GOV.UK One Login does not publish the keys of its identities.')
  }
}
