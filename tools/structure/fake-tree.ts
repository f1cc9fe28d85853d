import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The contents of a repository's files, by path. */
export type Files = Readonly<Record<string, string>>

/** Writes the files into a temporary directory, passes its path to `use`, and deletes it afterwards. */
export function withTree<T>(files: Files, use: (root: string) => T): T {
  const root = mkdtempSync(join(tmpdir(), 'structure-'))
  try {
    for (const [path, text] of Object.entries({ 'ARCHITECTURE.md': pageFor(files), ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    return use(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}

/** An ARCHITECTURE.md with these lines between the marks of its table. */
export function page(...rows: readonly string[]): string {
  return ['# Files', '<!-- files -->', ...rows, '<!-- /files -->', ''].join('\n')
}

/** A page with a row for each file. */
function pageFor(files: Files): string {
  const rows = Object.keys(files).map((path) => `| \`${path}\` | something |`)
  return page('| path | what it holds |', '|---|---|', ...rows)
}
