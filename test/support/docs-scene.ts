import { startTestService, type TestService, tempDir } from './service.ts'
import { type Shell, shellInCheckout } from './shell.ts'

/** What a test has to hand over. */
export type Context = Parameters<typeof startTestService>[0]

/** A service, and a shell in which the commands of a page run. */
export interface Scene {
  readonly service: TestService
  readonly shell: Shell
  readonly dir: string
  readonly ownerId: number
  /** What a page says, of this service. */
  here(commands: string): string
}

export async function docsScene(t: Context, env: Record<string, string> = {}): Promise<Scene> {
  const service = await startTestService(t, env)
  const dir = tempDir(t)
  const shell = shellInCheckout(dir, { ...service.env, URL: service.url })
  t.after(() => shell.close())
  const ownerId = await service.operator.addVerifiedOwner('grace')
  const here = (commands: string) => commands.replaceAll('http://localhost:8080', service.url)
  return { service, shell, dir, ownerId, here }
}
