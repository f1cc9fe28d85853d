import { genericGrantRequest, ResponseBodyError, randomPKCECodeVerifier } from 'openid-client'
import { type OidcDiscovery, TIMEOUT_SECONDS } from './oidc-client.ts'
import { describeError } from './oidc-errors.ts'
import type { OidcProfile } from './oidc-profile.ts'
import type { ProviderCheck } from './provider.ts'

/** Checks an OpenID Connect provider as far as possible without a user, for `countersignd provider check`. */
export async function checkOidc(
  profile: OidcProfile,
  discovery: OidcDiscovery,
): Promise<readonly ProviderCheck[]> {
  const discovered = await attempt('discovery', async () => {
    const { issuer } = (await discovery.get()).serverMetadata()
    return `${issuer} describes itself`
  })
  if (!discovered.ok) return [discovered]
  return [
    discovered,
    await attempt('keys', () => checkKeys(discovery)),
    await attempt('pushed requests', () => checkPushedRequests(profile, discovery)),
    await attempt('acr', () => checkAcr(profile, discovery)),
    await attempt('client authentication', () => checkClientAuthentication(discovery)),
  ]
}

/** Runs one check. @param work returns the finding, and throws if it is bad */
export async function attempt(name: string, work: () => Promise<string>): Promise<ProviderCheck> {
  try {
    return { name, ok: true, detail: await work() }
  } catch (error) {
    return { name, ok: false, detail: describeError(error) }
  }
}

async function checkKeys(discovery: OidcDiscovery): Promise<string> {
  const { jwks_uri: uri } = (await discovery.get()).serverMetadata()
  if (uri === undefined) throw new Error('there is no jwks_uri, and ID tokens cannot be verified')
  const response = await fetch(uri, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
  })
  if (!response.ok) throw new Error(`the keys answer ${response.status}`)
  const { keys } = (await response.json()) as { keys?: unknown[] }
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('there are no keys')
  return `${keys.length} to verify ID tokens with`
}

async function checkPushedRequests(
  { par }: OidcProfile,
  discovery: OidcDiscovery,
): Promise<string> {
  const metadata = (await discovery.get()).serverMetadata()
  if (metadata.pushed_authorization_request_endpoint === undefined) return 'not offered'
  if (par !== false) return 'offered, and used'
  if (metadata.require_pushed_authorization_requests === true) {
    throw new Error('required, and switched off by par: false')
  }
  return 'offered, and switched off by par: false'
}

async function checkAcr({ accepted, acrValues, acrClaim }: OidcProfile, discovery: OidcDiscovery) {
  if (accepted === null) return 'any is accepted'
  const { acr_values_supported: offered } = (await discovery.get()).serverMetadata()
  const asked = acrValues ?? [...accepted.keys()]
  const unknown = Array.isArray(offered) ? asked.filter((each) => !offered.includes(each)) : []
  const note = unknown.length === 0 ? '' : `; it does not say that it knows ${unknown.join(', ')}`
  return `${acrClaim ?? 'acr'} must be one of ${[...accepted.keys()].join(', ')}${note}`
}

/** Redeems an invalid code: the error shows whether the provider accepted the client's authentication. */
export async function checkClientAuthentication(discovery: OidcDiscovery): Promise<string> {
  const config = await discovery.get()
  try {
    await genericGrantRequest(config, 'authorization_code', {
      code: 'countersign-check',
      redirect_uri: 'https://countersign.invalid/',
      code_verifier: randomPKCECodeVerifier(),
    })
  } catch (error) {
    if (!(error instanceof ResponseBodyError)) throw error
    if (error.error === 'invalid_grant') return 'accepted'
    if (['invalid_client', 'unauthorized_client'].includes(error.error)) throw error
    return `cannot be told without a user: ${describeError(error)}`
  }
  throw new Error('a code that was never given out was accepted')
}
