import assert from 'node:assert/strict'

/** The settings of a deployment with its own names. */
export const ACME = { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID', SERVICE_NAME: 'Acme' }

/**
 * The default names, which a renamed deployment must not show. The commands, the program and its packages are always called
 * countersign; the service is not.
 */
export const DEFAULT_NAMES = /\bsvc(?:Did)?\b|_svc-|serviceid|\bCountersign\b/gi
const PROGRAM = /(?<![A-Za-z])countersign(?![A-Za-z])|COUNTERSIGN(?=_)/g

/** Asserts that a text contains none of the default names. */
export function assertNoDefaultNames(where: string, text: string): void {
  const found = [...text.replaceAll(PROGRAM, '').matchAll(DEFAULT_NAMES)]
  const told = found.map(({ index }) =>
    text.replaceAll(PROGRAM, '').slice(Math.max(0, index - 60), index + 60),
  )
  assert.deepEqual(told, [], where)
}
