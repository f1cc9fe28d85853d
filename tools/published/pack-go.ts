import { hash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from './packages.ts'
import { zip } from './zip.ts'

const HOME = join(import.meta.dirname, '../../go')
const LICENCE = join(HOME, '../LICENSE')

/**
 * Packs the Go module without Go, as the module proxy protocol has it (https://go.dev/ref/mod#zip-files): a zip archive with all paths
 * below `<module>@v<version>/`, and go.mod beside it. Without tests, which read `vectors/`. The same files give the same bytes.
 */
export function packGo(outDir: string): PackedPackage {
  const { version } = JSON.parse(readFileSync(join(HOME, '../package.json'), 'utf8'))
  const manifest = readFileSync(join(HOME, 'go.mod'))
  const module = /^module (\S+)$/m.exec(manifest.toString())?.[1]
  if (module === undefined) throw new Error('go.mod has no module')
  const sources = globSync('{*.go,go.mod,README.md}', { cwd: HOME })
    .filter((path) => !path.endsWith('_test.go'))
    .toSorted()
    .map((path) => ({ path, bytes: readFileSync(join(HOME, path)) }))
  const files = [{ path: 'LICENSE', bytes: readFileSync(LICENCE) }, ...sources]
  const root = `${module}@v${version}`
  const bytes = zip(files.map(({ path, bytes }) => ({ path: `${root}/${path}`, bytes })))
  const file = `countersign-go-${version}.zip`
  writeFileSync(join(outDir, file), bytes)
  writeFileSync(join(outDir, 'go.mod'), manifest)
  return { file, version, size: bytes.length, sha512: hash('sha512', bytes) }
}
