import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Breach } from './breach.ts'
import { isTest, type SourceFile } from './source-files.ts'

const PAGE = 'ARCHITECTURE.md'
const BEGIN = '<!-- files -->'
const END = '<!-- /files -->'

interface Row {
  readonly line: number
  /** With a slash at its end where the row stands for a directory and everything below it. */
  readonly path: string
  readonly holds: string
}

/** The table of files in ARCHITECTURE.md against the files that there are. */
export function checkTable(root: string, sources: readonly SourceFile[]): Breach[] {
  const file = join(root, PAGE)
  if (!existsSync(file)) return [onPage(1, 'there is no such page', `write it, with ${BEGIN}`)]
  const lines = readFileSync(file, 'utf8').split(/\r?\n/)
  const begin = lines.findIndex((line) => line.trim() === BEGIN)
  const end = lines.findIndex((line) => line.trim() === END)
  if (begin === -1 || end < begin) {
    return [onPage(1, 'it has no table of files', `put one between the lines ${BEGIN} and ${END}`)]
  }
  const rows = readRows(lines.slice(begin + 1, end), begin + 2)
  const paths = new Set(rows.map(({ path }) => path))
  return [...judgeRows(root, rows), ...uncovered(paths, sources, begin + 1)]
}

/** The rows below the head of a markdown table; the head ends with its line of dashes. */
function readRows(lines: readonly string[], firstLine: number): Row[] {
  const cells = lines.map((line) => (line.startsWith('|') ? line.split(/(?<!\\)\|/) : []))
  const dashes = cells.findIndex(([, first = '']) => /^\s*:?-+:?\s*$/.test(first))
  return cells.flatMap(([, path, holds = ''], index) => {
    if (path === undefined || index <= dashes) return []
    const bare = path.trim().replace(/^`(.*)`$/, '$1')
    return [{ line: firstLine + index, path: bare, holds: holds.trim() }]
  })
}

function judgeRows(root: string, rows: readonly Row[]): Breach[] {
  return rows.flatMap(({ line, path, holds }, index) => {
    if (rows.findIndex((row) => row.path === path) < index) {
      return [onPage(line, `a second row for ${path}`, 'keep one of them')]
    }
    const entry = statSync(join(root, path.replace(/\/$/, '')), { throwIfNoEntry: false })
    if (entry === undefined) {
      return [onPage(line, `${path} does not exist`, 'take the row out, or mend the path')]
    }
    if (entry.isDirectory() !== path.endsWith('/')) {
      const is = entry.isDirectory() ? 'is a directory' : 'is a file'
      return [onPage(line, `${path} ${is}`, 'end the paths of directories, and only those, in /')]
    }
    return holds === '' ? [onPage(line, `the row of ${path} is empty`, 'say what it holds')] : []
  })
}

/** The most specific row speaks for a file. */
function uncovered(
  rows: ReadonlySet<string>,
  sources: readonly SourceFile[],
  tableLine: number,
): Breach[] {
  const directories = [...rows].filter((path) => path.endsWith('/'))
  return sources.flatMap(({ path }) => {
    if (isTest(path) || rows.has(path)) return []
    if (directories.some((directory) => path.startsWith(directory))) return []
    return [onPage(tableLine, `no row covers ${path}`, 'add a row for it or for its directory')]
  })
}

function onPage(line: number, wrong: string, mend: string): Breach {
  return { path: PAGE, line, wrong, mend }
}
