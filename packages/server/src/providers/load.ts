import { readFileSync } from 'node:fs'
import { isLoopback } from '@countersign/protocol'
import { DEVELOPMENT, DevelopmentProviders, type StartProvider } from './development/index.ts'
import { ProviderSettingsError } from './fields.ts'
import { IN_PERSON, inPersonProvider } from './in-person.ts'
import type { IdentityProvider } from './provider.ts'
import { type Env, SecretError } from './secret.ts'
import { type Entry, readEntries } from './settings.ts'
import { PROVIDER_TYPES } from './types.ts'

/** Where providers come from. */
export interface ProviderSource {
  /** The file that IDENTITY_PROVIDERS names, or null. */
  readonly file: string | null
  /** Where the service stands: providers for development exist on loopback only. */
  readonly baseUrl: URL
  /** Where secrets are that settings name. */
  readonly env: Env
  /** Who starts those for development, where it is not this process. */
  readonly startDevelopment?: StartProvider | undefined
}

export interface LoadedProviders {
  readonly all: readonly IdentityProvider[]
  readonly development: boolean
  /** Ends what was started. */
  close(): Promise<void>
}

/**
 * The providers of a service: those of the host's file; without one, on loopback, those for development; and in person
 * always. Nothing is asked of any provider here, so that a service starts while one is down.
 * @throws ProviderSettingsError with every mistake
 */
export async function loadProviders(source: ProviderSource): Promise<LoadedProviders> {
  if (source.file !== null) {
    const all = await configured(source.file, source)
    return { all: withInPerson(all), development: false, close: async () => undefined }
  }
  if (!isLoopback(source.baseUrl.hostname)) {
    return { all: [inPersonProvider()], development: false, close: async () => undefined }
  }
  const development = new DevelopmentProviders(source.baseUrl, source.startDevelopment)
  return {
    all: withInPerson(development.all),
    development: true,
    close: () => development.close(),
  }
}

function withInPerson(all: readonly IdentityProvider[]): readonly IdentityProvider[] {
  return all.some((each) => each.id === IN_PERSON) ? all : [...all, inPersonProvider()]
}

async function configured(file: string, source: ProviderSource): Promise<IdentityProvider[]> {
  const { entries, mistakes } = readEntries(read(file))
  const providers: IdentityProvider[] = []
  for (const entry of entries) {
    try {
      refuseOutOfPlace(entry, source.baseUrl)
      providers.push(await make(entry, source.env))
    } catch (error) {
      mistakes.push(...mistakesIn(error).map((each) => `${entry.place}: ${each}`))
    }
  }
  if (mistakes.length > 0) throw new ProviderSettingsError(mistakes)
  return providers
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new ProviderSettingsError([`the file cannot be read (${code})`])
  }
}

async function make({ type, settings }: Entry, env: Env): Promise<IdentityProvider> {
  const known = PROVIDER_TYPES.find((each) => each.type === type)
  if (known === undefined) throw new ProviderSettingsError(['type is not known'])
  return known.make(settings as never, env)
}

/** What only belongs on a developer's machine, or to another provider. */
function refuseOutOfPlace({ id, type, settings }: Entry, baseUrl: URL): void {
  if (DEVELOPMENT.some((each) => each.id === id)) {
    throw new ProviderSettingsError(['id is that of a provider for development'])
  }
  if (id === IN_PERSON && type !== IN_PERSON) {
    throw new ProviderSettingsError([`id can be ${IN_PERSON} only where type is`])
  }
  const plain = Object.entries(settings as object).filter(
    ([, value]) => typeof value === 'string' && value.startsWith('http:'),
  )
  if (plain.length === 0 || isLoopback(baseUrl.hostname)) return
  throw new ProviderSettingsError(
    plain.map(([name]) => `${name} must be an https address, since BASE_URL is not on loopback`),
  )
}

function mistakesIn(error: unknown): readonly string[] {
  if (error instanceof ProviderSettingsError) return error.mistakes
  if (error instanceof SecretError) return [error.message]
  throw error
}
