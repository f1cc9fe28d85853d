import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

const PACKAGES = join(import.meta.dirname, '../../packages')
const TSC = join(PACKAGES, '../node_modules/typescript/bin/tsc')
/** The specifier of an import, an export or an import type. */
const SPECIFIER = /(\bfrom |\bimport\()(['"])(.*?)\2/g

/** The types of a package of the workspace, for its published form. */
export interface Declaration {
  /** Its directory in packages/. */
  readonly name: string
  readonly entries: readonly string[]
  readonly outDir: string
  /** Packages that whoever installs this one gets, or has. */
  readonly installed?: readonly string[]
}

/**
 * Writes the types of the published form: those of its entries and what these need, and no others.
 * @throws Error where they need a package that whoever installs this one does not get
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

/** Files below the root, without their ending. */
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
