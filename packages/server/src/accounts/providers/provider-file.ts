import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { Env } from '../../base/config.ts'
import { githubProvider, githubSettings } from './github.ts'
import { inPersonProvider, inPersonSettings } from './in-person.ts'
import { oidcSettings } from './oidc-settings.ts'
import type { IdentityProvider } from './provider.ts'
import { ProviderSettingsError } from './settings-fields.ts'
import { stripeIdentityProvider, stripeIdentitySettings } from './stripe-identity.ts'
import { worldIdProvider, worldIdSettings } from './world-id.ts'

/** An entry of the operator's file whose settings match the schema of its type. */
export interface ProviderEntry {
  /** `providers[0] (id)`, for messages. */
  readonly place: string
  readonly id: string
  readonly type: string
  readonly settings: unknown
}

/**
 * Parses the file that IDENTITY_PROVIDERS names.
 * @returns the valid entries, and the mistakes in the others
 * @throws ProviderSettingsError if the file is not JSON of the form `{"providers": [ … ]}`
 */
export function parseProviderFile(text: string): { entries: ProviderEntry[]; mistakes: string[] } {
  const { providers } = parseJson(text)
  const entries: ProviderEntry[] = []
  const mistakes: string[] = []
  const ids = new Set<string>()
  providers.forEach((settings, index) => {
    const place = placeOf(settings, index)
    const wrong = mistakesOf(settings)
    mistakes.push(...wrong.map((each) => `${place}: ${each}`))
    const { id, type } = settings as { id: string; type: string }
    if (wrong.length > 0) return
    if (ids.has(id)) mistakes.push(`${place}: id is that of another provider`)
    ids.add(id)
    entries.push({ place, id, type, settings })
  })
  return { entries, mistakes }
}

function parseJson(text: string): { providers: unknown[] } {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    // The message of JSON.parse quotes the text, which can be a secret.
    throw new ProviderSettingsError(['the file is not JSON'])
  }
  const { providers, ...more } = (content ?? {}) as { providers?: unknown }
  if (Array.isArray(providers) && Object.keys(more).length === 0) return { providers }
  throw new ProviderSettingsError(['the file must be {"providers": [ … ]} and nothing else'])
}

function placeOf(settings: unknown, index: number): string {
  const id = (settings as { id?: unknown } | null)?.id
  const named = typeof id === 'string' && /^[a-z0-9-]{1,32}$/.test(id)
  return named ? `providers[${index}] (${id})` : `providers[${index}]`
}

function mistakesOf(settings: unknown): string[] {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    return ['must be an object']
  }
  const { type } = settings as { type?: unknown }
  const known = PROVIDER_TYPES.find((each) => each.type === type)
  if (known !== undefined) return explain(known.schema, settings)
  return [`type must be one of: ${PROVIDER_TYPES.map((each) => each.type).join(', ')}`]
}

/** The mistakes in one entry, by setting and without values. */
function explain(schema: TSchema, settings: object): string[] {
  const { properties, required = [] } = schema as unknown as ObjectSchema
  const wrong = Object.entries(settings).flatMap(([name, value]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    // An unknown name could be a misplaced secret, so it is cut to the length of a name.
    if (property === undefined) return [`${JSON.stringify(name.slice(0, 32))} is not a setting`]
    return Value.Check(property, value)
      ? []
      : [`${name} must be ${property.description ?? 'of another kind'}`]
  })
  const missing = required.filter((name) => !Object.hasOwn(settings, name))
  return [...wrong, ...missing.map((name) => `${name} is missing`)]
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, TSchema & { readonly description?: string }>>
  readonly required?: readonly string[]
}

interface ProviderType {
  readonly type: string
  readonly schema: TSchema
  /** @throws ProviderSettingsError, SecretError */
  readonly make: (settings: never, env: Env) => IdentityProvider | Promise<IdentityProvider>
}

/** Loaded on demand: openid-client and jose are large. */
async function makeOidcProvider(...settings: Parameters<OidcProvider>): ReturnType<OidcProvider> {
  const { oidcProvider } = await import('./oidc.ts')
  return oidcProvider(...settings)
}

type OidcProvider = typeof import('./oidc.ts').oidcProvider

/** The types that the operator's file can contain. */
export const PROVIDER_TYPES: readonly ProviderType[] = [
  { type: 'oidc', schema: oidcSettings(), make: makeOidcProvider },
  { type: 'github', schema: githubSettings(), make: githubProvider },
  { type: 'world-id', schema: worldIdSettings(), make: worldIdProvider },
  { type: 'stripe-identity', schema: stripeIdentitySettings(), make: stripeIdentityProvider },
  { type: 'in-person', schema: inPersonSettings(), make: inPersonProvider },
]

/** @throws ProviderSettingsError, SecretError */
export async function createProvider(
  { type, settings }: ProviderEntry,
  env: Env,
): Promise<IdentityProvider> {
  const known = PROVIDER_TYPES.find((each) => each.type === type)
  if (known === undefined) throw new ProviderSettingsError(['type is not known'])
  return known.make(settings as never, env)
}
