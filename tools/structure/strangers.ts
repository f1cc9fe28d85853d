import {
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isStringLiteral,
  type Node,
} from 'typescript/unstable/ast'
import type { Breach } from './breach.ts'
import { ENVELOPE, STRANGERS } from './rules.ts'
import { lineOf, nodesBelow, type ParsedFile } from './syntax.ts'

/** Names in a directory that has no business with them; the first use in a file is told. */
export function checkStrangers(files: readonly ParsedFile[]): Breach[] {
  return files.flatMap(({ path, tree }) =>
    STRANGERS.filter((rule) => path.startsWith(rule.files)).flatMap(({ name, why }) => {
      const use = nodesBelow(tree).find((node) => isIdentifier(node) && node.text === name)
      if (use === undefined) return []
      return [{ path, line: lineOf(tree, use), wrong: `${name} does not belong here`, mend: why }]
    }),
  )
}

/** Error envelopes built outside the one file that may. */
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

/** `{ error: { …, requestId } }`. Where the id is a literal, it is an example in a description. */
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
