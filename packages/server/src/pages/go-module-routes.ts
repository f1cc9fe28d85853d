import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, type Naming } from '@countersign/protocol'
import { VERSION } from '../base/version.ts'
import { CACHE_PAGES } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import { type Rendered, rendered, sendRendered } from '../http/rendered.ts'
import type { App } from '../http/server.ts'

/** The version of the module, as Go writes it. */
const GO_VERSION = `v${VERSION}`
const TEXT = 'text/plain; charset=utf-8'

/**
 * Serves the Go module below `/packages/go/`, as the protocol of module proxies has it (https://go.dev/ref/mod#goproxy-protocol), so that
 * `go get` installs it with `GOPROXY=<service>/packages/go`. Other modules are not found here, so Go asks the next proxy of its list.
 * @param dir the output of the build; may be missing
 */
export function goModuleRoutes(app: App, naming: Naming, dir: string): void {
  const manifest = join(dir, 'go.mod')
  if (!existsSync(manifest)) return
  const module = /^module (\S+)$/m.exec(readFileSync(manifest, 'utf8'))?.[1]
  const info = ['application/json', async () => JSON.stringify({ Version: GO_VERSION })] as const
  const archive = join(dir, `countersign-go-${VERSION}.zip`)
  const files = new Map<string, readonly [type: string, read: () => Promise<string | Buffer>]>([
    ['@latest', info],
    ['@v/list', [TEXT, async () => `${GO_VERSION}\n`]],
    [`@v/${GO_VERSION}.info`, info],
    [`@v/${GO_VERSION}.mod`, [TEXT, () => readFile(manifest)]],
    [`@v/${GO_VERSION}.zip`, ['application/zip', () => readFile(archive)]],
  ])
  const contents = new Map<string, Rendered>()
  publicRead<{ '*': string }>(app, naming, {
    url: `/packages/go/${module}/*`,
    cacheControl: CACHE_PAGES,
    // Addresses of several segments, which OpenAPI cannot describe.
    schema: { hide: true, response: {} },
    async handler({ '*': name }, reply) {
      const file = files.get(name)
      if (file === undefined) {
        throw new CodedError(
          'NOT_FOUND',
          `There is no such version. See /packages/go/${module}/@v/list`,
        )
      }
      const [type, read] = file
      const content = contents.get(name) ?? rendered(await read(), false)
      contents.set(name, content)
      sendRendered(reply.request, reply.type(type), content)
    },
  })
}
