import assert from 'node:assert/strict'

/** A deployment that goes by names of its own. */
export const ACME = { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID', SERVICE_NAME: 'Acme' }

/**
 * Names that stand where a deployment's own belong. The command is called countersign wherever it runs, and so are
 * the program and its packages; the service is not.
 */
export const USUAL_NAMES = /\bsvc(?:Did)?\b|_svc-|serviceid|\bCountersign\b/gi
const PROGRAM = /(?<![A-Za-z])countersign(?![A-Za-z])|COUNTERSIGN(?=_)/g

/** Asserts that a text has none of the names that a deployment has when its host chooses none. */
export function assertOwnNames(where: string, text: string): void {
  const found = [...text.replaceAll(PROGRAM, '').matchAll(USUAL_NAMES)]
  const told = found.map(({ index }) =>
    text.replaceAll(PROGRAM, '').slice(Math.max(0, index - 60), index + 60),
  )
  assert.deepEqual(told, [], where)
}
