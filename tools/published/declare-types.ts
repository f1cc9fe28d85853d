import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

const PACKAGES = join(import.meta.dirname, '../../packages')
const TSC = join(PACKAGES, '../node_modules/typescript/bin/tsc')
/** The module specifier of an import, an export or an import type. */
const SPECIFIER = /(\bfrom |\bimport\()(['"])(.*?)\2/g

/** A package of the workspace, whose types are published. */
export interface Declaration {
  /** Its directory in packages/. */
  readonly name: string
  readonly entries: readonly string[]
  readonly outDir: string
  /** Packages that are installed together with this one, or already present. */
  readonly installed?: readonly string[]
}

/**
 * Writes the types of the entry points and only those that they need.
 * @throws Error if they need a package that is not installed with this one
 */
export function declareTypes({ name, entries, outDir, installed = [] }: Declaration): void {
  const drafts = mkdtempSync(join(tmpdir(), 'countersign-types-'))
  try {
    const args = [TSC, '-p', 'tsconfig.build.json', '--outDir', drafts]
    const { status } = spawnSync(process.execPath, args, {
      cwd: join(PACKAGES, name),
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error('the types could not be declared')
    const root = join(drafts, 'packages', name, 'src')
    for (const file of reachable(root, entries, installed)) {
      const to = join(outDir, `${file}.d.ts`)
      mkdirSync(dirname(to), { recursive: true })
      writeFileSync(to, read(root, file).replaceAll(SPECIFIER, asPublished))
    }
  } finally {
    rmSync(drafts, { recursive: true })
  }
}

/** Files below the root, without their extension. */
function reachable(
  root: string,
  entries: readonly string[],
  installed: readonly string[],
): Set<string> {
  const found = new Set<string>(entries)
  for (const file of found) {
    for (const [, , , specifier = ''] of read(root, file).matchAll(SPECIFIER)) {
      if (specifier.startsWith('.')) {
        found.add(relative(root, join(root, dirname(file), specifier)).replace(/\.ts$/, ''))
      } else if (!specifier.startsWith('node:') && !installed.includes(specifier)) {
        throw new Error(`the public types of ${file} need ${specifier}, which is not installed`)
      }
    }
  }
  return found
}

function read(root: string, file: string): string {
  return readFileSync(join(root, `${file}.d.ts`), 'utf8')
}

function asPublished(_: string, before: string, quote: string, specifier: string): string {
  return `${before}${quote}${specifier.replace(/^(\..*)\.ts$/, '$1.js')}${quote}`
}
