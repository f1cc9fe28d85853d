import type { Logger } from 'pino'
import { type Settings, SettingsError } from '../config/config.ts'
import type { StartProvider } from './development/index.ts'
import { ProviderSettingsError } from './fields.ts'
import { type LoadedProviders, loadProviders } from './load.ts'
import type { Providers } from './providers.ts'
import type { Env } from './secret.ts'

/**
 * The identity providers of a service.
 * @param startDevelopment who starts those for development, where it is not this process
 * @throws SettingsError with every mistake in the file, and no value of it
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

/** Says at start how owners can verify who they are, where that is not what the host has configured. */
export function tellOfProviders({ all, development }: Providers, log: Logger): void {
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
