import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startTestService, type TestService, tempDir } from '../../../../../test/support/service.ts'
import { CLIENT_SECRET } from './oidc-server.ts'

type Test = Parameters<typeof startTestService>[0]

/** Writes a file for IDENTITY_PROVIDERS. @returns its path */
export function providersFile(t: Test, providers: readonly unknown[]): string {
  const file = join(tempDir(t), 'providers.json')
  writeFileSync(file, JSON.stringify({ providers }))
  return file
}

/** Starts a service with these providers configured. */
export function startWithProviders(
  t: Test,
  providers: readonly unknown[],
  env: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  return startTestService(t, {
    IDENTITY_PROVIDERS: providersFile(t, providers),
    CLIENT_SECRET,
    ...env,
  })
}
