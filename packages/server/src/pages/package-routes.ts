import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, type Naming } from '@countersign/protocol'
import { type Static, Type } from 'typebox'
import { CACHE_PAGES } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import { type Rendered, rendered, sendRendered } from '../http/rendered.ts'
import type { App } from '../http/server.ts'

const INDEX = Type.Object(
  {
    packages: Type.Array(
      Type.Object({
        file: Type.String({ description: 'its name at /packages/' }),
        version: Type.String(),
        size: Type.Integer({ description: 'in bytes' }),
        sha512: Type.String({
          pattern: '^[0-9a-f]{128}$',
          description: 'lower-case hexadecimal, as sha512sum prints it',
        }),
      }),
    ),
  },
  { description: 'The packages' },
)

type PackageIndex = Static<typeof INDEX>

const NOT_BUILT = 'The packages are not built: npm run build'
/**
 * Serves `/packages/…`: the tarballs of the command, the SDK and the gateway, with the version in their names or without, the
 * wheel and source distribution of the Python package, whose names need the version for pip, and the Go module.
 * @param dir the output of the build; may be missing
 */
export function packageRoutes(app: App, naming: Naming, dir: string): void {
  const indexFile = join(dir, 'index.json')
  const index: PackageIndex | null = existsSync(indexFile)
    ? JSON.parse(readFileSync(indexFile, 'utf8'))
    : null
  let listing: Rendered | null = null
  const contents = new Map<string, Rendered>()
  const files = new Map<string, string>()
  for (const { file, version } of index?.packages ?? []) {
    files.set(file, file).set(file.replace(`-${version}.tgz`, '.tgz'), file)
  }

  publicRead(app, naming, {
    url: '/packages/index.json',
    cacheControl: CACHE_PAGES,
    schema: {
      operationId: 'packages',
      summary: 'List the packages of this service for npm, the Python package and the Go module',
      tags: ['learn'],
      response: { 200: INDEX },
    },
    handler: async (_params, reply) => {
      if (index === null) throw new CodedError('UNAVAILABLE', NOT_BUILT)
      listing ??= rendered(JSON.stringify(index))
      sendRendered(reply.request, reply.type('application/json; charset=utf-8'), listing)
    },
  })
  publicRead<{ file: string }>(app, naming, {
    url: '/packages/:file',
    cacheControl: CACHE_PAGES,
    schema: {
      operationId: 'package',
      summary: 'Download an npm or Python package, or the Go module',
      tags: ['learn'],
      params: Type.Object({
        file: Type.String({
          description: 'such as countersign-sdk-1.2.3.tgz or countersign-sdk.tgz',
        }),
      }),
      response: {
        200: {
          description: 'The tarball, or the wheel or Go module (application/zip)',
          content: {
            'application/gzip': { schema: Type.String({ format: 'binary' }) },
            'application/zip': { schema: Type.String({ format: 'binary' }) },
          },
        },
      },
    },
    async handler({ file }, reply) {
      if (index === null) throw new CodedError('UNAVAILABLE', NOT_BUILT)
      const found = files.get(file)
      if (found === undefined)
        throw new CodedError('NOT_FOUND', 'There is no such package. See /packages/index.json')
      const type = /\.(?:whl|zip)$/.test(found) ? 'application/zip' : 'application/gzip'
      const content = contents.get(found) ?? rendered(await readFile(join(dir, found)), false)
      contents.set(found, content)
      sendRendered(reply.request, reply.type(type), content)
    },
  })
}
