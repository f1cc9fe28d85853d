import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { countLines } from './structure/file-rules.ts'
import { importsOf } from './structure/imports.ts'
import { arrowsBetween, roomOf } from './structure/rooms.ts'
import { isCode, readSources, type SourceFile } from './structure/source-files.ts'
import { parse } from './structure/syntax.ts'

// node tools/measure-structure.ts [checkout …]: sizes of the repository and of the server's structure, a column a checkout.

const SERVER = 'packages/server/src/'

/** What counts as source, test and so on; the first row that fits takes a file. */
const SIZES = {
  tests: ['packages/*/test/**/*.ts', 'test/**/*.{ts,mjs}', 'tools/**/*.test.ts'],
  server: [`${SERVER}**/*.{ts,tsx,css}`],
  'other packages’ sources': ['packages/*/src/**/*.{ts,tsx,css}'],
  tools: ['tools/**/*.ts'],
  bench: ['bench/**/*.ts'],
}

function measure(root: string): Readonly<Record<string, number>> {
  const server = readSources(root).filter(({ path }) => path.startsWith(SERVER))
  const imports = parse(server.filter(isCode)).flatMap(importsOf)
  const importers = new Map<string, Set<string>>()
  for (const { from, target } of imports) {
    if (target.kind !== 'file') continue
    importers.set(target.path, (importers.get(target.path) ?? new Set()).add(from))
  }
  const single = server.filter(({ path }) => importers.get(path)?.size === 1)
  return {
    rooms: new Set(server.flatMap(({ path }) => roomOf(path) ?? [])).size,
    'arrows between rooms': arrowsBetween(imports).length,
    'files that append events of agents': server.filter(appendsAgentEvents).length,
    'files that queue entries of the log': server.filter(calls('insertQueued|logChange')).length,
    'files that notify owners': server.filter(calls('appendNotification|notifyOwner')).length,
    'wiring, lines of service/*.ts': linesOf(root, [`${SERVER}service/*.ts`]).lines,
    'server, files with one importer': single.length,
    'server, of these under 60 lines': single.filter(({ text }) => countLines(text) < 60).length,
    ...sizes(root),
    'ARCHITECTURE.md, bytes': readFileSync(join(root, 'ARCHITECTURE.md')).byteLength,
  }
}

/** Events of no agent have `tail: null`, or are appended by `appendEvent` where there is a function for those of agents. */
function appendsAgentEvents({ path, text }: SourceFile): boolean {
  if (path.endsWith('/event-table.ts')) return false
  return (
    /import [^;]*\bappendAgentEvent\b[^;]*event-table/.test(text) ||
    (/appendEvent\(/.test(text) && !/tail: null/.test(text))
  )
}

function calls(names: string): (source: SourceFile) => boolean {
  const call = new RegExp(`(?<!function )\\b(${names})\\(`)
  return ({ text }) => call.test(text)
}

function sizes(root: string): Record<string, number> {
  const counted = new Set<string>()
  const rows: [string, number][] = []
  for (const [name, globs] of Object.entries(SIZES)) {
    const { files, lines } = linesOf(root, globs, counted)
    rows.push([`${name}, files`, files], [`${name}, lines`, lines])
  }
  return Object.fromEntries(rows)
}

/** @param counted paths that do not count again; those found are added */
function linesOf(root: string, globs: readonly string[], counted = new Set<string>()) {
  const found = globSync([...globs], { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })
  const paths = found.filter((path) => !counted.has(path))
  for (const path of paths) counted.add(path)
  const texts = paths.map((path) => readFileSync(join(root, path), 'utf8'))
  return { files: paths.length, lines: texts.reduce((sum, text) => sum + countLines(text), 0) }
}

const roots = process.argv.length > 2 ? process.argv.slice(2) : ['.']
const columns = roots.map((root) => measure(resolve(root)))
console.table(
  Object.fromEntries(
    Object.keys(columns[0] ?? {}).map((name) => [
      name,
      Object.fromEntries(roots.map((root, index) => [root, columns[index]?.[name]])),
    ]),
  ),
)
