import { isObjectLiteralExpression, isSpreadAssignment } from 'typescript/unstable/ast'
import type { Breach } from './breach.ts'
import { isTest } from './source-files.ts'
import { lineOf, nodesBelow, type ParsedFile } from './syntax.ts'

/** Object literals that are spread into another, such as `{ ...{ a, b }, c }`: written out, they say the same. */
export function checkSpreadLiterals(files: readonly ParsedFile[]): Breach[] {
  return files
    .filter(({ path }) => !isTest(path))
    .flatMap(({ path, tree }) =>
      nodesBelow(tree)
        .filter((node) => isSpreadAssignment(node) && isObjectLiteralExpression(node.expression))
        .map((node) => ({
          path,
          line: lineOf(tree, node),
          wrong: 'an object literal is spread into another',
          mend: 'write its members out',
        })),
    )
}
