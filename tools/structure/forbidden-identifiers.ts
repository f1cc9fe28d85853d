import { isIdentifier } from 'typescript/unstable/ast'
import type { Breach } from './breach.ts'
import { FORBIDDEN_IDENTIFIERS } from './rules.ts'
import { lineOf, nodesBelow, type ParsedFile } from './syntax.ts'

/** Uses of an identifier in a directory where it is forbidden. Reports the first use in each file. */
export function checkForbiddenIdentifiers(files: readonly ParsedFile[]): Breach[] {
  return files.flatMap(({ path, tree }) =>
    FORBIDDEN_IDENTIFIERS.filter((rule) => rule.files.test(path)).flatMap((rule) => {
      const { name, why } = rule
      const use = nodesBelow(tree).find((node) => isIdentifier(node) && node.text === name)
      if (use === undefined) return []
      const wrong = `${name} must not be used here`
      return [{ path, line: lineOf(tree, use), wrong, mend: why }]
    }),
  )
}
