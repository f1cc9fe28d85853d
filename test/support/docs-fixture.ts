import { startTestService, type TestService, tempDir } from './service.ts'
import { type Shell, shellInCheckout } from './shell.ts'

/** The part of a test's context that is needed. */
export type Context = Parameters<typeof startTestService>[0]

/** A service, and a shell that runs the commands of a documentation page. */
export interface Scene {
  readonly service: TestService
  readonly shell: Shell
  readonly dir: string
  readonly ownerId: number
  /** Replaces the documentation's URL with this service's. */
  here(commands: string): string
}

export async function startDocsFixture(
  t: Context,
  env: Record<string, string> = {},
): Promise<Scene> {
  const service = await startTestService(t, env)
  const dir = tempDir(t)
  const shell = shellInCheckout(dir, { ...service.env, URL: service.url })
  t.after(() => shell.close())
  const ownerId = await service.operator.addVerifiedOwner('grace')
  const here = (commands: string) => commands.replaceAll('http://localhost:8080', service.url)
  return { service, shell, dir, ownerId, here }
}
