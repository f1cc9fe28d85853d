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
/** Its package in the workspace, whose declarations the SDK publishes as its own. */
const PROTOCOL = '@countersign/protocol'
const PROTOCOL_SOURCES = 'packages/protocol/src'
const ENTRIES = [
  ['@countersign/sdk', 'index.ts'],
  ['@countersign/sdk/node', 'node.ts'],
] as const

/**
 * Reads the exports of the SDK.
 * @throws Error if an export has no declaration in its file
 */
export function sdkEntries(root: string): Entry[] {
  const sources = (directory: string, prefix: string) =>
    globSync('**/*.ts', { cwd: join(root, directory) }).map((name) => ({
      path: prefix + name.replaceAll('\\', '/'),
      text: readFileSync(join(root, directory, name), 'utf8'),
    }))
  const files = parse([...sources(SOURCES, ''), ...sources(PROTOCOL_SOURCES, `${PROTOCOL}/`)])
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
    const path = from.text === PROTOCOL ? PROTOCOL : posix.join(posix.dirname(entry), from.text)
    return statement.exportClause.elements.map(({ name, propertyName }) =>
      declaration(files, path, (propertyName ?? name).text),
    )
  })
}

function declaration(files: ReadonlyMap<string, ParsedFile>, path: string, name: string): Export {
  for (const [each, { tree }] of files) {
    const node = tree.statements.find((statement) => nameOf(statement) === name)
    const isIn = each === path || each.startsWith(`${path}/`)
    if (isIn && node !== undefined) return { name, node, tree }
  }
  throw new Error(`${path} does not declare ${name}`)
}

function nameOf(node: Node): string | null {
  const named =
    isFunctionDeclaration(node) ||
    isClassDeclaration(node) ||
    isInterfaceDeclaration(node) ||
    isTypeAliasDeclaration(node)
  return named ? (node.name?.text ?? null) : null
}
