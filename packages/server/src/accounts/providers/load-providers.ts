import { readFileSync } from 'node:fs'
import { isLoopback } from '@countersign/protocol'
import type { Logger } from 'pino'
import type { Env } from '../../base/config.ts'
import { type Settings, SettingsError } from '../../base/config.ts'
import { ORGANISATION_DOMAIN } from '../verification-table.ts'
import { DEVELOPMENT, DevelopmentProviders, type StartProvider } from './development/index.ts'
import { IN_PERSON, inPersonProvider } from './in-person.ts'
import type { IdentityProvider } from './provider.ts'
import type { ProviderEntry } from './provider-file.ts'
import type { Providers } from './providers.ts'
import { SecretError } from './secret-reference.ts'
import { ProviderSettingsError } from './settings-fields.ts'

/** What providers are loaded from. */
export interface ProviderSource {
  /** The file that IDENTITY_PROVIDERS names, or null. */
  readonly file: string | null
  /** The service's own URL. Development providers exist only on loopback. */
  readonly baseUrl: URL
  /** The environment for secrets that settings reference. */
  readonly env: Env
  /** Starts development providers in another process; by default they start in this one. */
  readonly startDevelopment?: StartProvider | undefined
}

export interface LoadedProviders {
  readonly all: readonly IdentityProvider[]
  readonly development: boolean
  /** Stops the development providers that were started. */
  close(): Promise<void>
}

/**
 * The providers of a service: those in the operator's file, or, without a file and on loopback, the development
 * providers; always `in-person`. Contacts no provider, so that the service starts while one is down.
 * @throws ProviderSettingsError with every mistake
 */
export async function loadProviders(source: ProviderSource): Promise<LoadedProviders> {
  if (source.file !== null) {
    const all = await loadFile(source.file, source)
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

/** Loads the providers' code on demand: it and its validator are 350 modules. */
async function loadFile(file: string, source: ProviderSource): Promise<IdentityProvider[]> {
  const { createProvider, parseProviderFile } = await import('./provider-file.ts')
  const { entries, mistakes } = parseProviderFile(readFile(file))
  const providers: IdentityProvider[] = []
  for (const entry of entries) {
    try {
      assertEntryAllowed(entry, source.baseUrl)
      providers.push(await createProvider(entry, source.env))
    } catch (error) {
      mistakes.push(...mistakesIn(error).map((each) => `${entry.place}: ${each}`))
    }
  }
  if (mistakes.length > 0) throw new ProviderSettingsError(mistakes)
  return providers
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new ProviderSettingsError([`the file cannot be read (${code})`])
  }
}

/** Rejects reserved ids, and plain http unless the service is on loopback. */
function assertEntryAllowed({ id, type, settings }: ProviderEntry, baseUrl: URL): void {
  if (DEVELOPMENT.some((each) => each.id === id)) {
    throw new ProviderSettingsError(['id is that of a provider for development'])
  }
  if (id === ORGANISATION_DOMAIN) {
    throw new ProviderSettingsError(['id is that of verification by a domain'])
  }
  if (id === IN_PERSON && type !== IN_PERSON) {
    throw new ProviderSettingsError([`id can be ${IN_PERSON} only where type is`])
  }
  const insecure = Object.entries(settings as object).filter(
    ([, value]) => typeof value === 'string' && value.startsWith('http:'),
  )
  if (insecure.length === 0 || isLoopback(baseUrl.hostname)) return
  throw new ProviderSettingsError(
    insecure.map(([name]) => `${name} must be an https address, since BASE_URL is not on loopback`),
  )
}

function mistakesIn(error: unknown): readonly string[] {
  if (error instanceof ProviderSettingsError) return error.mistakes
  if (error instanceof SecretError) return [error.message]
  throw error
}

/**
 * The identity providers of a service, from its settings.
 * @param startDevelopment starts development providers in another process; by default they start in this one
 * @throws SettingsError with every mistake in the file, without values
 */
export async function openProviders(
  settings: Settings,
  env: Env,
  startDevelopment?: StartProvider,
): Promise<LoadedProviders> {
  const { identityProviders: file, baseUrl } = settings
  try {
    return await loadProviders({ file, baseUrl, env, startDevelopment })
  } catch (error) {
    if (!(error instanceof ProviderSettingsError)) throw error
    throw new SettingsError(error.mistakes.map((each) => `IDENTITY_PROVIDERS, ${each}`))
  }
}

/** Logs at startup if the providers are not configured by the operator. */
export function logProviders({ all, development }: Providers, log: Logger): void {
  if (development) {
    log.info(
      'Identity providers for development: anyone can be anyone there. They exist on loopback only; IDENTITY_PROVIDERS names real ones.',
    )
  } else if (all.every((each) => !each.selfService)) {
    log.warn(
      'No identity provider is configured: owners are verified by countersignd alone. See IDENTITY_PROVIDERS.',
    )
  }
}
