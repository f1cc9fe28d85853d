import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { isStringLiteralLikeNode } from 'typescript/unstable/ast/is'
import { SCOPE } from './rules.ts'
import { lineOf, type ParsedFile } from './syntax.ts'

/** One `import`, `export … from`, `import type`, `import('…')` or `import('…').Type` of a file. */
export interface Import {
  readonly from: string
  readonly line: number
  readonly specifier: string
  readonly target: Target
}

/** The target of a specifier: a file of the repository (relative to the root), or a package. */
type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'workspace'; readonly path: string }
  | { readonly kind: 'package'; readonly name: string }

/** Every import of the file with a literal specifier. */
export function importsOf({ path, tree }: ParsedFile): Import[] {
  return tree.imports.filter(isStringLiteralLikeNode).map((node) => ({
    from: path,
    line: lineOf(tree, node),
    specifier: node.text,
    target: targetOf(path, node.text),
  }))
}

function targetOf(from: string, specifier: string): Target {
  if (/^\.\.?(\/|$)/.test(specifier)) {
    const [plain = ''] = specifier.split('?')
    return { kind: 'file', path: posix.join(posix.dirname(from), plain) }
  }
  if (specifier.startsWith(SCOPE)) {
    const [name] = specifier.slice(SCOPE.length).split('/')
    return { kind: 'workspace', path: `packages/${name}/src/index.ts` }
  }
  if (isBuiltin(specifier)) {
    return { kind: 'package', name: `node:${specifier.replace(/^node:/, '')}` }
  }
  return { kind: 'package', name: specifier }
}
