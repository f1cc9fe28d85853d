import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOMS } from './rules.ts'

/** The contents of a repository's files, by path. */
export type Files = Readonly<Record<string, string>>

/** Writes the files into a temporary directory, passes its path to `use`, and deletes it afterwards. */
export function withTree<T>(files: Files, use: (root: string) => T): T {
  const root = mkdtempSync(join(tmpdir(), 'structure-'))
  try {
    for (const [path, text] of Object.entries({ 'ARCHITECTURE.md': page(), ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    return use(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}

/** An ARCHITECTURE.md with these rooms in its table. */
export function page(rooms: readonly string[] = ROOMS): string {
  return `# Architecture\n\n${rooms.map((room) => `| \`${room}/\` | something |\n`).join('')}`
}
