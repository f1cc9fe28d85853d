import { type Assurance, isLoopback } from '@countersign/protocol'
import { OIDC_PRESETS, type OidcPreset } from './oidc-presets.ts'
import type { OidcSettings } from './oidc-settings.ts'
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
