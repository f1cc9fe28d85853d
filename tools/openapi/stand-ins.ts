import { namingFor } from '@countersign/protocol'
import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'

/**
 * Names that occur nowhere else. What is made for a deployment with them becomes a template: `templateOf` replaces them by
 * placeholders. They are valid, and as long as the default names.
 */
export const STAND_IN = {
  shortName: 'qwz',
  idHeader: 'Qwzheader',
  serviceName: 'Qwzservice',
  baseUrl: 'https://qwz.example',
} as const

export const STAND_IN_NAMES = {
  naming: namingFor(STAND_IN.shortName, STAND_IN.idHeader),
  baseUrl: STAND_IN.baseUrl,
}

/** The stand-ins with their placeholders, the longer ones first. */
const REPLACED: readonly (readonly [string, string])[] = [
  [STAND_IN.baseUrl, PLACEHOLDER.baseUrl],
  [new URL(STAND_IN.baseUrl).host, PLACEHOLDER.host],
  [STAND_IN.serviceName, PLACEHOLDER.serviceName],
  [STAND_IN.idHeader, PLACEHOLDER.idHeader],
  [STAND_IN.idHeader.toLowerCase(), PLACEHOLDER.idHeaderLower],
  [STAND_IN.shortName, PLACEHOLDER.shortName],
]

/** Signatures and keys, which have any three letters now and then. */
const ENCODED = /[\w+/-]{40,}/g

/** @throws Error if part of a stand-in is left, so that it would be shown */
export function templateOf(text: string): string {
  const template = REPLACED.reduce((done, [name, mark]) => done.replaceAll(name, mark), text)
  const words = template.replaceAll(ENCODED, '')
  const at = words.search(/qwz/i)
  if (at !== -1) throw new Error(`part of a stand-in is left: ${words.slice(at - 60, at + 60)}`)
  return template
}
