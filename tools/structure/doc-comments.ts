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

/** Exported functions, classes and interfaces in the documented packages without a doc comment. */
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
  const checked = new Set<string>()
  return tree.statements.flatMap((node) => {
    const documentable =
      isFunctionDeclaration(node) || isClassDeclaration(node) || isInterfaceDeclaration(node)
    if (!documentable) return []
    const name = node.name?.text ?? 'default'
    const isExported =
      exported.has(name) || node.modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)
    // The first overload or the first part of an interface documents the others.
    if (!isExported || checked.has(name)) return []
    checked.add(name)
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

/** A comment followed by a blank line does not belong to the declaration below it. */
function isDocumented(tree: Tree, node: Node): boolean {
  const comment = node.jsDoc?.at(-1)
  if (comment === undefined) return false
  return !/\n[ \t\r]*\n/.test(tree.text.slice(comment.end, node.getStart(tree)))
}
