import { type Assurance, isLoopback } from '@countersign/protocol'
import { createLocalJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { OIDC_PRESETS, type OidcPreset } from './oidc-presets.ts'
import type { OidcSettings } from './oidc-settings.ts'
import { ProviderFailure, ProviderRefusal } from './provider.ts'
import { ProviderSettingsError } from './settings-fields.ts'

/** The effective settings of an OpenID Connect provider: the operator's, with the preset's as defaults. */
export interface OidcProfile extends OidcSettings {
  readonly issuer: string
  readonly label: string
  readonly kind: NonNullable<OidcSettings['kind']>
  readonly proves: string
  readonly clientAuth: NonNullable<OidcSettings['clientAuth']>
  /** The assurance of each accepted acr value; null: any value, or none, is accepted. */
  readonly accepted: ReadonlyMap<string, Assurance> | null
}

/** Settings that are required without a preset. */
const REQUIRED_WITHOUT_PRESET = ['issuer', 'label', 'kind', 'proves'] as const
/** Settings that presets derive the issuer from; not needed if the issuer is set. */
const ISSUER_PARTS: ReadonlySet<string> = new Set(['domain', 'tenant'])

/** @throws ProviderSettingsError with every missing or contradictory setting */
export function resolveProfile(settings: OidcSettings): OidcProfile {
  const preset = findPreset(settings)
  const merged = { ...preset.defaults, ...settings }
  const issuer = settings.issuer ?? preset.issuer?.(settings) ?? merged.issuer
  const needs = preset.needs.filter(
    (each) => settings.issuer === undefined || !ISSUER_PARTS.has(each),
  )
  const mistakes = [
    ...[...new Set([...needs, ...(settings.preset === undefined ? REQUIRED_WITHOUT_PRESET : [])])]
      .filter((each) => settings[each] === undefined)
      .map((each) => `${each} is missing`),
    ...addressMistakes({ issuer, coreIdentity: merged.coreIdentity }),
    ...assuranceMistakes(merged),
    ...credentialMistakes(merged),
    ...nameMistakes(merged),
    ...organisationMistakes(merged),
  ]
  if (mistakes.length > 0) throw new ProviderSettingsError(mistakes)
  const clientAuth = merged.clientAuth ?? 'client_secret_basic'
  return { ...merged, issuer, clientAuth, accepted: acceptedAcrValues(merged) } as OidcProfile
}

function findPreset({ preset }: OidcSettings): OidcPreset {
  if (preset === undefined) return { defaults: {}, needs: [] }
  const known = Object.hasOwn(OIDC_PRESETS, preset) ? OIDC_PRESETS[preset] : undefined
  if (known !== undefined) return known
  throw new ProviderSettingsError([
    `preset must be one of: ${Object.keys(OIDC_PRESETS).join(', ')}`,
  ])
}

/** Addresses must be https, except on loopback. */
function addressMistakes(addresses: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(addresses)
    .filter(([, address]) => address !== undefined && !isSecure(new URL(address)))
    .map(([name]) => `${name} must be an https address`)
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname)
}

function assuranceMistakes({ acr, assurance }: Partial<OidcSettings>): string[] {
  const mapped = acr !== undefined && !Array.isArray(acr)
  return mapped || assurance !== undefined ? [] : ['assurance is missing']
}

function credentialMistakes(settings: Partial<OidcSettings>): string[] {
  const [used, unused] =
    settings.clientAuth === 'private_key_jwt'
      ? (['privateKey', 'clientSecret'] as const)
      : (['clientSecret', 'privateKey'] as const)
  const mistakes = []
  if (settings[used] === undefined) mistakes.push(`${used} is missing`)
  if (settings[unused] !== undefined)
    mistakes.push(
      `${unused} is of no use with clientAuth ${settings.clientAuth ?? 'client_secret_basic'}`,
    )
  return mistakes
}

/** Where people choose their name themselves, publishing it as verified would be wrong. */
function nameMistakes({ nameClaim, kind }: Partial<OidcSettings>): string[] {
  if (nameClaim === undefined || kind === 'eid' || kind === 'kyc') return []
  return ['nameClaim is possible only where kind is eid or kyc']
}

/** Without the claim, the person who signs in would be the organisation. */
function organisationMistakes(settings: Partial<OidcSettings>): string[] {
  const { for: verified, subjectClaim, signIn } = settings
  if (verified !== 'organisation') {
    return subjectClaim === undefined
      ? []
      : ['subjectClaim is possible only where for is organisation']
  }
  const mistakes = subjectClaim === undefined ? ['subjectClaim is missing'] : []
  if (signIn === true) mistakes.push('signIn is not possible where for is organisation')
  return mistakes
}

function acceptedAcrValues({
  acr,
  assurance,
}: Partial<OidcSettings>): ReadonlyMap<string, Assurance> | null {
  if (acr === undefined) return null
  if (!Array.isArray(acr)) return new Map(Object.entries(acr))
  return new Map(acr.map((each) => [each, assurance as Assurance]))
}

/** The assurance of a verification, or null if it depends on the acr. */
export function assuranceOf({ accepted, assurance }: OidcProfile): Assurance | null {
  const levels = accepted === null ? [] : [...new Set(accepted.values())]
  if (levels.length === 0) return assurance as Assurance
  return levels.length === 1 ? (levels[0] as Assurance) : null
}

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
