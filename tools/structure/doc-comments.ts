import {
  isClassDeclaration,
  isExportDeclaration,
  isFunctionDeclaration,
  isInterfaceDeclaration,
  isNamedExports,
  type Node,
  SyntaxKind,
  type SourceFile as Tree,
} from 'typescript/unstable/ast'
import type { Breach } from './breach.ts'
import { DOCUMENTED } from './rules.ts'
import { lineOf, type ParsedFile } from './syntax.ts'

/** Exported functions, classes and interfaces of the documented packages that have no doc comment. */
export function checkDocComments(files: readonly ParsedFile[]): Breach[] {
  return files
    .filter(({ path }) => DOCUMENTED.some((place) => path.startsWith(place)))
    .flatMap(({ path, tree }) =>
      undocumented(tree).map(({ name, node }) => ({
        path,
        line: lineOf(tree, node),
        wrong: `${name} is exported and has no doc comment directly above it`,
        mend: 'say in /** … */ what goes in and comes out, the errors, and the section it implements',
      })),
    )
}

function undocumented(tree: Tree): { name: string; node: Node }[] {
  const exported = namesInExportLists(tree)
  const told = new Set<string>()
  return tree.statements.flatMap((node) => {
    const documentable =
      isFunctionDeclaration(node) || isClassDeclaration(node) || isInterfaceDeclaration(node)
    if (!documentable) return []
    const name = node.name?.text ?? 'default'
    const isExported =
      exported.has(name) || node.modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)
    // The first of several overloads, or of several parts of an interface, speaks for all.
    if (!isExported || told.has(name)) return []
    told.add(name)
    return isDocumented(tree, node) ? [] : [{ name, node }]
  })
}

/** The local names in `export { a, b as c }`. */
function namesInExportLists(tree: Tree): Set<string> {
  const names = tree.statements.flatMap((node) => {
    if (!isExportDeclaration(node) || node.moduleSpecifier !== undefined) return []
    if (node.exportClause === undefined || !isNamedExports(node.exportClause)) return []
    return node.exportClause.elements.map(({ propertyName, name }) => (propertyName ?? name).text)
  })
  return new Set(names)
}

/** A blank line parts a comment from what stands below it. */
function isDocumented(tree: Tree, node: Node): boolean {
  const comment = node.jsDoc?.at(-1)
  if (comment === undefined) return false
  return !/\n[ \t\r]*\n/.test(tree.text.slice(comment.end, node.getStart(tree)))
}
