import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import {
  isClassDeclaration,
  isExportDeclaration,
  isFunctionDeclaration,
  isInterfaceDeclaration,
  isNamedExports,
  isStringLiteral,
  isTypeAliasDeclaration,
  type Node,
  type SourceFile as Tree,
} from 'typescript/unstable/ast'
import { PROTOCOL_TYPES } from '../published/declare-types.ts'
import { type ParsedFile, parse } from '../structure/syntax.ts'

/** An export of a package, with its declaration. */
export interface Export {
  readonly name: string
  readonly node: Node
  readonly tree: Tree
}

/** An entry point of a package with its exports, in order. */
export interface Entry {
  readonly specifier: string
  readonly exports: readonly Export[]
}

const SOURCES = 'packages/sdk/src'
const PROTOCOL_FILE = `${PROTOCOL_TYPES.file}.ts`
const ENTRIES = [
  ['@countersign/sdk', 'index.ts'],
  ['@countersign/sdk/node', 'node.ts'],
] as const

/**
 * Reads the exports of the SDK.
 * @throws Error if an export has no declaration in its file
 */
export function sdkEntries(root: string): Entry[] {
  const names = globSync('**/*.ts', { cwd: join(root, SOURCES) }).map((name) =>
    name.replaceAll('\\', '/'),
  )
  const read = (path: string, file: string) => ({
    path,
    text: readFileSync(join(root, file), 'utf8'),
  })
  const files = parse([
    ...names.map((path) => read(path, `${SOURCES}/${path}`)),
    read(PROTOCOL_FILE, `packages/${PROTOCOL_FILE}`),
  ])
  const byPath = new Map(files.map((file) => [file.path, file]))
  return ENTRIES.map(([specifier, file]) => ({ specifier, exports: exportsOf(byPath, file) }))
}

function exportsOf(files: ReadonlyMap<string, ParsedFile>, entry: string): Export[] {
  const { tree } = files.get(entry) as ParsedFile
  return tree.statements.flatMap((statement) => {
    if (!isExportDeclaration(statement) || statement.exportClause === undefined) return []
    if (!isNamedExports(statement.exportClause)) return []
    const from = statement.moduleSpecifier
    if (from === undefined || !isStringLiteral(from)) return []
    const isProtocol = from.text === PROTOCOL_TYPES.specifier
    const path = isProtocol ? PROTOCOL_FILE : posix.join(posix.dirname(entry), from.text)
    return statement.exportClause.elements.map(({ name, propertyName }) =>
      declaration(files, path, (propertyName ?? name).text),
    )
  })
}

function declaration(files: ReadonlyMap<string, ParsedFile>, path: string, name: string): Export {
  const tree = files.get(path)?.tree
  const node = tree?.statements.find((each) => nameOf(each) === name)
  if (tree === undefined || node === undefined) throw new Error(`${path} does not declare ${name}`)
  return { name, node, tree }
}

function nameOf(node: Node): string | null {
  const named =
    isFunctionDeclaration(node) ||
    isClassDeclaration(node) ||
    isInterfaceDeclaration(node) ||
    isTypeAliasDeclaration(node)
  return named ? (node.name?.text ?? null) : null
}
