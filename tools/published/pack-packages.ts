import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { distOf } from './build-packages.ts'
import { packGo } from './pack-go.ts'
import { packPython } from './pack-python.ts'
import { type PackedPackage, PUBLISHED_PACKAGES } from './packages.ts'

/**
 * Packs the built packages, the Python package and the Go module, and lists them in index.json. The same files give the same bytes.
 * @param outDir emptied first
 */
export async function packPackages(outDir: string): Promise<readonly PackedPackage[]> {
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  // `npm run` names the npm that it belongs to.
  const { npm_execpath: npm } = process.env
  const args = [
    'pack',
    ...PUBLISHED_PACKAGES.map(distOf),
    '--pack-destination',
    outDir,
    '--json',
    '--ignore-scripts',
  ]
  const { stdout } = await (npm === undefined
    ? promisify(execFile)('npm', args)
    : promisify(execFile)(process.execPath, [npm, ...args]))
  const tarballs = packedBy(stdout).map(({ filename, version }): PackedPackage => {
    const bytes = readFileSync(join(outDir, filename))
    return { file: filename, version, size: bytes.length, sha512: hash('sha512', bytes) }
  })
  const packed = [...tarballs, ...packPython(outDir), packGo(outDir)]
  writeFileSync(join(outDir, 'index.json'), `${JSON.stringify({ packages: packed }, null, 2)}\n`)
  return packed
}

interface NpmPacked {
  /** `@scope/name` is written `scope-name`. */
  readonly filename: string
  readonly version: string
}

/** npm 11 and earlier print a list, later ones an object by package name. */
function packedBy(stdout: string): readonly NpmPacked[] {
  const printed: Readonly<Record<string, NpmPacked>> | readonly NpmPacked[] = JSON.parse(stdout)
  return Object.values(printed)
}
