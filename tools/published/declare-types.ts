import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import type { PublishedPackage } from './packages.ts'

/** The part of the protocol whose types the packages publish as they are. */
export const PROTOCOL_TYPES = {
  specifier: '@countersign/protocol/signed-request-types',
  file: 'protocol/src/http-signatures/signed-request-types',
}
const PACKAGES = join(import.meta.dirname, '../../packages')
const TSC = join(PACKAGES, '../node_modules/typescript/bin/tsc')
/** The module specifier of an import, an export or an import type. */
const SPECIFIER = /(\bfrom |\bimport\()(['"])(.*?)\2/g

/**
 * Writes the types of the entry points of packages, and only those that they need, beside their code.
 * @throws Error if they need a package that is neither a part of the package nor installed with it
 */
export async function declareTypes(packages: readonly PublishedPackage[]): Promise<void> {
  const drafts = mkdtempSync(join(tmpdir(), 'countersign-types-'))
  try {
    const args = [TSC, '-p', import.meta.dirname, '--outDir', drafts]
    await promisify(execFile)(process.execPath, args)
    for (const published of packages) {
      for (const [file, text] of reachable(join(drafts, 'packages'), published)) {
        const path = `${publishedPath(file, published.name)}.d.ts`
        const to = join(PACKAGES, published.name, 'dist/lib', path)
        mkdirSync(dirname(to), { recursive: true })
        writeFileSync(to, text)
      }
    }
  } finally {
    rmSync(drafts, { recursive: true })
  }
}

/** Texts of declarations by file: paths below packages/ without their extension. */
function reachable(
  root: string,
  { name, entries, bundled, dependencies, peers }: PublishedPackage,
): Map<string, string> {
  const texts = new Map<string, string>()
  const waiting = entries.map((entry) => `${name}/src/${entry}`)
  const parts = new Map([
    [PROTOCOL_TYPES.specifier, PROTOCOL_TYPES.file],
    ...Object.entries(bundled).map(([each, part]) => [each, `${part}/src/index`] as const),
  ])
  const resolve = (file: string, specifier: string): string => {
    const found = parts.get(specifier) ?? fileOf(file, specifier)
    if (found === null) {
      const isInstalled = [...dependencies, ...peers].some(
        (each) => specifier === each || specifier.startsWith(`${each}/`),
      )
      if (specifier.startsWith('node:') || isInstalled) return specifier
      throw new Error(`the public types of ${file} need ${specifier}, which is not installed`)
    }
    waiting.push(found)
    const from = posix.dirname(publishedPath(file, name))
    const path = posix.relative(from, `${publishedPath(found, name)}.js`)
    return path.startsWith('.') ? path : `./${path}`
  }
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (texts.has(file)) continue
    const current = file
    const text = readFileSync(join(root, `${file}.d.ts`), 'utf8')
    texts.set(
      file,
      text.replaceAll(
        SPECIFIER,
        (_, before, quote, specifier) => before + quote + resolve(current, specifier) + quote,
      ),
    )
  }
  return texts
}

/** The file that a relative import names; null for a package. */
function fileOf(file: string, specifier: string): string | null {
  if (!specifier.startsWith('.')) return null
  return posix.join(posix.dirname(file), specifier).replace(/\.ts$/, '')
}

/** Where the bundler puts a module: the package's own at the top, those of other packages below packages/. */
function publishedPath(file: string, name: string): string {
  const own = `${name}/src/`
  return file.startsWith(own) ? file.slice(own.length) : `packages/${file}`
}
