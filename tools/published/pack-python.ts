import { hash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ArchivedFile, tarGz } from '../../packages/server/src/pages/docs/tar-gz.ts'
import type { PackedPackage } from './packages.ts'
import { zip } from './zip.ts'

const HOME = join(import.meta.dirname, '../../python')
const LICENCE = join(HOME, '../LICENSE')

/**
 * Packs the Python package without Python: a wheel (PEP 427, which is a zip archive with metadata) and a source distribution
 * (PEP 517, 625). The same files give the same bytes.
 */
export function packPython(outDir: string): readonly PackedPackage[] {
  const manifest = readFileSync(join(HOME, 'pyproject.toml'), 'utf8')
  const name = stringOf(manifest, 'name')
  const version = stringOf(manifest, 'version')
  const metadata = metadataOf(manifest)
  const modules = globSync('**/{*.py,py.typed}', { cwd: join(HOME, 'src') }).toSorted()
  const sources = modules.map((path) => ({ path, bytes: readFileSync(join(HOME, 'src', path)) }))
  const made = {
    [`${name}-${version}-py3-none-any.whl`]: wheel(
      `${name}-${version}.dist-info`,
      sources,
      metadata,
    ),
    [`${name}-${version}.tar.gz`]: sourceDistribution(`${name}-${version}`, sources, metadata),
  }
  return Object.entries(made).map(([file, bytes]) => {
    writeFileSync(join(outDir, file), bytes)
    return { file, version, size: bytes.length, sha512: hash('sha512', bytes) }
  })
}

function wheel(info: string, sources: readonly ArchivedFile[], metadata: Buffer): Buffer {
  const about =
    'Wheel-Version: 1.0\nGenerator: countersign\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
  const files = [
    ...sources,
    { path: `${info}/LICENSE`, bytes: readFileSync(LICENCE) },
    { path: `${info}/METADATA`, bytes: metadata },
    { path: `${info}/WHEEL`, bytes: Buffer.from(about) },
  ]
  const rows = files.map(
    ({ path, bytes }) => `${path},sha256=${hash('sha256', bytes, 'base64url')},${bytes.length}\n`,
  )
  const record = `${info}/RECORD`
  return zip([...files, { path: record, bytes: Buffer.from(`${rows.join('')}${record},,\n`) }])
}

function sourceDistribution(
  root: string,
  sources: readonly ArchivedFile[],
  metadata: Buffer,
): Buffer {
  const own = ['README.md', 'build_backend.py', 'pyproject.toml'].map((path) => ({
    path: `${root}/${path}`,
    bytes: readFileSync(join(HOME, path)),
  }))
  return tarGz([
    { path: `${root}/LICENSE`, bytes: readFileSync(LICENCE) },
    { path: `${root}/PKG-INFO`, bytes: metadata },
    ...own,
    ...sources.map(({ path, bytes }) => ({ path: `${root}/src/${path}`, bytes })),
  ])
}

/** Core metadata 2.1 (PEP 566). */
function metadataOf(manifest: string): Buffer {
  const dependencies = /^dependencies = \[(.*)\]$/m.exec(manifest)?.[1] ?? ''
  const lines = [
    'Metadata-Version: 2.1',
    `Name: ${stringOf(manifest, 'name')}`,
    `Version: ${stringOf(manifest, 'version')}`,
    `Summary: ${stringOf(manifest, 'description')}`,
    `License: ${/^license = \{ text = "(.*)" \}$/m.exec(manifest)?.[1]}`,
    `Requires-Python: ${stringOf(manifest, 'requires-python')}`,
    ...[...dependencies.matchAll(/"([^"]*)"/g)].map(([, each]) => `Requires-Dist: ${each}`),
    ...extrasOf(manifest),
    'Description-Content-Type: text/markdown',
  ]
  return Buffer.from(`${lines.join('\n')}\n\n${readFileSync(join(HOME, 'README.md'), 'utf8')}`)
}

function extrasOf(manifest: string): string[] {
  const [, section = ''] = manifest.split('\n[project.optional-dependencies]\n')
  const [lines = ''] = section.split('\n[')
  return [...lines.matchAll(/^([a-z]+) = \[(.*)\]$/gm)].flatMap(([, name, packages = '']) => [
    `Provides-Extra: ${name}`,
    ...[...packages.matchAll(/"([^"]*)"/g)].map(
      ([, each]) => `Requires-Dist: ${each}; extra == "${name}"`,
    ),
  ])
}

/** A field of `[project]`: those that are read here have one line each. */
function stringOf(manifest: string, name: string): string {
  const value = new RegExp(`^${name} = "(.*)"$`, 'm').exec(manifest)?.[1]
  if (value === undefined) throw new Error(`pyproject.toml has no ${name}`)
  return value
}
