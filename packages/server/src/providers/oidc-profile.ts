import { type Assurance, isLoopback } from '@countersign/protocol'
import { OIDC_PRESETS, type OidcPreset } from './oidc-presets.ts'
import type { OidcSettings } from './oidc-settings.ts'
import { ProviderSettingsError } from './settings-fields.ts'

/** An OpenID Connect provider as it is used: the host's settings, and the preset's where the host says nothing. */
export interface OidcProfile extends OidcSettings {
  readonly issuer: string
  readonly label: string
  readonly kind: NonNullable<OidcSettings['kind']>
  readonly proves: string
  readonly clientAuth: NonNullable<OidcSettings['clientAuth']>
  /** What each accepted value of the acr claim is worth; null: any value, none too. */
  readonly accepted: ReadonlyMap<string, Assurance> | null
}

/** Without a preset. */
const REQUIRED_WITHOUT_PRESET = ['issuer', 'label', 'kind', 'proves'] as const
/** Of no use where the issuer itself is given. */
const ISSUER_PARTS: ReadonlySet<string> = new Set(['domain', 'tenant'])

/** @throws ProviderSettingsError with everything that is missing or does not go together */
export function oidcProfile(settings: OidcSettings): OidcProfile {
  const preset = presetOf(settings)
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
  ]
  if (mistakes.length > 0) throw new ProviderSettingsError(mistakes)
  const clientAuth = merged.clientAuth ?? 'client_secret_basic'
  return { ...merged, issuer, clientAuth, accepted: acceptedOf(merged) } as OidcProfile
}

function presetOf({ preset }: OidcSettings): OidcPreset {
  if (preset === undefined) return { defaults: {}, needs: [] }
  const known = Object.hasOwn(OIDC_PRESETS, preset) ? OIDC_PRESETS[preset] : undefined
  if (known !== undefined) return known
  throw new ProviderSettingsError([
    `preset must be one of: ${Object.keys(OIDC_PRESETS).join(', ')}`,
  ])
}

/** What is not https can be anybody; on loopback it is a developer's. */
function addressMistakes(addresses: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(addresses)
    .filter(([, address]) => address !== undefined && !isTrustworthy(new URL(address)))
    .map(([name]) => `${name} must be an https address`)
}

function isTrustworthy({ protocol, hostname }: URL): boolean {
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

function acceptedOf({
  acr,
  assurance,
}: Partial<OidcSettings>): ReadonlyMap<string, Assurance> | null {
  if (acr === undefined) return null
  if (!Array.isArray(acr)) return new Map(Object.entries(acr))
  return new Map(acr.map((each) => [each, assurance as Assurance]))
}

/** What a verification is worth, or null where that depends on the acr. */
export function assuranceOf({ accepted, assurance }: OidcProfile): Assurance | null {
  const worths = accepted === null ? [] : [...new Set(accepted.values())]
  if (worths.length === 0) return assurance as Assurance
  return worths.length === 1 ? (worths[0] as Assurance) : null
}
