import { isLoopback } from '@countersign/protocol'
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildAuthorizationUrlWithPAR,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  type IDToken,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import type { Env } from '../../base/config.ts'
import { checkOidc } from './oidc-check.ts'
import { createClientAuth, OidcDiscovery, TIMEOUT_SECONDS } from './oidc-client.ts'
import { toCompletionError, toProviderFailure } from './oidc-errors.ts'
import {
  assuranceOf,
  CORE_IDENTITY_PARAMETERS,
  type OidcProfile,
  resolveProfile,
  verifyCoreIdentity,
} from './oidc-profile.ts'
import type { OidcSettings } from './oidc-settings.ts'
import {
  type BeginContext,
  type BeginResult,
  type CompletionInput,
  type IdentityProvider,
  ProviderFailure,
  ProviderRefusal,
  type VerificationResult,
} from './provider.ts'
import { validityMs } from './settings-fields.ts'

/** Stored in the flow while the browser is at the provider. */
export interface OidcState {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/**
 * An OpenID Connect provider: authorization code flow with PKCE (S256), state and nonce, and a pushed request if the
 * provider offers it (RFC 9126). Always verifies the ID token's signature, issuer, audience, nonce and times, and the
 * response's `iss` (RFC 9207); `acr` and `auth_time` as configured. Stores no tokens.
 * @param now milliseconds since the Unix epoch
 * @throws ProviderSettingsError, SecretError
 */
export async function oidcProvider(
  settings: OidcSettings,
  env: Env,
  now: () => number = Date.now,
): Promise<IdentityProvider> {
  const profile = resolveProfile(settings)
  const auth = await createClientAuth(
    profile,
    env,
    () => discovery.known?.serverMetadata().token_endpoint,
  )
  const discovery = new OidcDiscovery(profile, auth, now)
  return {
    id: profile.id,
    label: profile.label,
    kind: profile.kind,
    for: profile.for ?? 'person',
    assurance: assuranceOf(profile),
    unique: true,
    verifiesName: profile.nameClaim !== undefined,
    proves: profile.proves,
    validForMs: validityMs(profile.validForDays),
    signIn: profile.signIn ?? false,
    selfService: true,
    begin: (context) => beginOidc(profile, discovery, context),
    complete: (context, input, state) =>
      complete(profile, discovery, context, input, state as OidcState, now),
    check: () => checkOidc(profile, discovery),
  }
}

/** Begins an authorization, to which `redeemCode` is the end. @throws ProviderFailure */
export async function beginOidc(
  profile: OidcProfile,
  discovery: OidcDiscovery,
  context: BeginContext,
): Promise<BeginResult> {
  const config = await discovery.get()
  const state: OidcState = {
    state: randomState(),
    nonce: randomNonce(),
    verifier: randomPKCECodeVerifier(),
  }
  const parameters = await authorizationParameters(profile, context, state)
  const redirect = await buildAuthorization(profile, config, parameters)
  if (redirect.protocol !== 'https:' && !isLoopback(redirect.hostname)) {
    throw new ProviderFailure(`${profile.label} wants people sent to an address that is not https.`)
  }
  return { redirect: redirect.href, state }
}

async function authorizationParameters(
  profile: OidcProfile,
  { callbackUrl, withName = false }: BeginContext,
  { state, nonce, verifier }: OidcState,
): Promise<Record<string, string>> {
  const acrValues = profile.acrValues ?? [...(profile.accepted?.keys() ?? [])]
  return {
    response_type: 'code',
    redirect_uri: callbackUrl,
    scope: scopesOf(profile, withName).join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(profile.coreIdentity !== undefined && CORE_IDENTITY_PARAMETERS),
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    ...(profile.maxAge !== undefined && { max_age: String(profile.maxAge) }),
    ...(profile.prompt !== undefined && { prompt: profile.prompt }),
  }
}

/** The name is asked for only if the owner wants to publish it. */
function scopesOf(
  { scopes = [], nameScope = 'profile' }: OidcProfile,
  withName: boolean,
): string[] {
  return [...new Set(['openid', ...scopes, ...(withName ? [nameScope] : [])])]
}

async function buildAuthorization(
  profile: OidcProfile,
  config: Configuration,
  parameters: Record<string, string>,
): Promise<URL> {
  const offered = config.serverMetadata().pushed_authorization_request_endpoint !== undefined
  try {
    return offered && profile.par !== false
      ? await buildAuthorizationUrlWithPAR(config, parameters)
      : buildAuthorizationUrl(config, parameters)
  } catch (error) {
    throw toProviderFailure(profile.label, 'pushing the request', error)
  }
}

/**
 * Redeems the code of a callback and verifies the ID token.
 * @param maxAge the seconds since the person authenticated that are accepted; undefined: any
 * @throws errors of openid-client, for `toCompletionError`
 */
export async function redeemCode(
  config: Configuration,
  callbackUrl: string,
  { url }: CompletionInput,
  state: OidcState,
  maxAge?: number,
): Promise<{ readonly claims: IDToken; readonly accessToken: string }> {
  const callback = new URL(callbackUrl)
  callback.search = url?.search ?? ''
  const tokens = await authorizationCodeGrant(config, callback, {
    expectedState: state.state,
    expectedNonce: state.nonce,
    pkceCodeVerifier: state.verifier,
    idTokenExpected: true,
    ...(maxAge !== undefined && { maxAge }),
  })
  return { claims: tokens.claims() as IDToken, accessToken: tokens.access_token }
}

async function complete(
  profile: OidcProfile,
  discovery: OidcDiscovery,
  { callbackUrl, withName = false }: BeginContext,
  input: CompletionInput,
  state: OidcState,
  now: () => number,
): Promise<VerificationResult> {
  const config = await discovery.get()
  try {
    const redeemed = await redeemCode(config, callbackUrl, input, state, profile.maxAge)
    const { claims, accessToken } = redeemed
    const assurance = checkAcr(profile, claims)
    await checkCoreIdentity(profile, config, accessToken, claims, now)
    const read = (claim: string) => readClaim(claim, config, accessToken, claims)
    const name = withName ? await read(profile.nameClaim ?? '') : null
    return {
      subject: await subjectOf(profile, claims.sub, read),
      issuer: claims.iss,
      assurance,
      verifiedAt: new Date(now()),
      ...(name !== null && { name }),
    }
  } catch (error) {
    throw toCompletionError(profile.label, error)
  }
}

/** acr_values is only a request, so the acr claim must be checked (OpenID Connect Core, section 3.1.3.7). */
function checkAcr(profile: OidcProfile, claims: IDToken): VerificationResult['assurance'] {
  const { accepted, acrClaim = 'acr', assurance, label } = profile
  if (accepted === null) return assurance as VerificationResult['assurance']
  const value = claims[acrClaim]
  const level = typeof value === 'string' ? accepted.get(value) : undefined
  if (level !== undefined) return level
  throw new ProviderRefusal(
    `${label} has not verified you in a way that counts here. Begin again, and choose a stronger one there.`,
    { reason: 'too-weak' },
  )
}

const MAX_SUBJECT_LENGTH = 256

/** The organisation's own identifier, such as its company number, or the person's `sub`. Several people act for one organisation. */
async function subjectOf(
  { label, subjectClaim }: OidcProfile,
  sub: string,
  read: (claim: string) => Promise<string | null>,
): Promise<string> {
  if (subjectClaim === undefined) return sub
  const subject = (await read(subjectClaim))?.trim() ?? ''
  if (subject !== '' && subject.length <= MAX_SUBJECT_LENGTH) return subject
  throw new ProviderRefusal(
    `${label} names no organisation that you act for. Begin again, and choose the organisation there.`,
  )
}

/** A claim with text from the ID token, else from the userinfo endpoint if the provider has one. */
async function readClaim(
  claim: string,
  config: Configuration,
  accessToken: string,
  claims: IDToken,
): Promise<string | null> {
  const { userinfo_endpoint: endpoint } = config.serverMetadata()
  const source: Readonly<Record<string, unknown>> =
    claims[claim] !== undefined || endpoint === undefined
      ? claims
      : await fetchUserInfo(config, accessToken, claims.sub)
  const value = source[claim]
  return typeof value === 'string' ? value : null
}

async function checkCoreIdentity(
  { coreIdentity, clientId }: OidcProfile,
  config: Configuration,
  accessToken: string,
  { sub }: IDToken,
  now: () => number,
): Promise<void> {
  if (coreIdentity === undefined) return
  const userInfo = await fetchUserInfo(config, accessToken, sub)
  await verifyCoreIdentity(userInfo, {
    issuer: coreIdentity,
    clientId,
    subject: sub,
    timeoutMs: TIMEOUT_SECONDS * 1000,
    now: new Date(now()),
  })
}
