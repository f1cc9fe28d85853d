import {
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isStringLiteral,
  type Node,
} from 'typescript/unstable/ast'
import type { Breach } from './breach.ts'
import { ENVELOPE } from './rules.ts'
import { lineOf, nodesBelow, type ParsedFile } from './syntax.ts'

/** Error envelopes that are built outside the one file that may build them. */
export function checkEnvelopes(files: readonly ParsedFile[]): Breach[] {
  return files
    .filter(({ path }) => path.startsWith(ENVELOPE.within) && !ENVELOPE.allowed.includes(path))
    .flatMap(({ path, tree }) =>
      nodesBelow(tree)
        .filter(isEnvelope)
        .map((node) => ({
          path,
          line: lineOf(tree, node),
          wrong: 'an error envelope is built here',
          mend: `throw a CodedError, or call errorResponse of ${ENVELOPE.allowed[0]}`,
        })),
    )
}

/** Matches `{ error: { …, requestId } }`. A literal request id is an example in an API description. */
function isEnvelope(node: Node): boolean {
  const error = propertyOf(node, 'error')
  if (error === undefined || !isPropertyAssignment(error)) return false
  const id = propertyOf(error.initializer, 'requestId')
  return id !== undefined && !(isPropertyAssignment(id) && isStringLiteral(id.initializer))
}

function propertyOf(node: Node, name: string): Node | undefined {
  if (!isObjectLiteralExpression(node)) return undefined
  return node.properties.find(
    (each) =>
      (isPropertyAssignment(each) || isShorthandPropertyAssignment(each)) &&
      (isIdentifier(each.name) || isStringLiteral(each.name)) &&
      each.name.text === name,
  )
}
