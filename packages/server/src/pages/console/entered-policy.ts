import { Gate, type Policy, PolicyError, type PolicyInput } from '@countersign/gateway/internal'
import type { ConsoleForm } from './console-form.ts'
import { readJson } from './json-lines.ts'
import { type ConsoleReadDeps, readModelRegistry } from './read-model-registry.ts'

/** A policy that the gateway accepts. */
export interface EnteredPolicy {
  /** As it was entered. */
  readonly input: PolicyInput
  /** Origins. */
  readonly audiences: readonly [string, ...string[]]
  /** With all defaults. */
  readonly policy: Policy
}

/** What is wrong with a policy. */
export interface PolicyFault {
  /** From 1. */
  readonly line: number
  /** A sentence. */
  readonly message: string
}

export interface EnteredFaults {
  readonly policy: readonly PolicyFault[]
  /** A sentence; null: the origins are valid. */
  readonly origin: string | null
}

/** For each route it is decided whether it admits impostors, which takes time. */
const MAX_ROUTES = 40
const MAX_FAULTS = 20
const MAX_LENGTH = 32_768
const LENGTH = 'Enter a policy, such as { "requireProof": true }, of up to 32 KiB.'

/** Reads the policy and the origins of the form. The gateway's own reader judges them. */
export function readEntered(
  read: ConsoleReadDeps,
  form: ConsoleForm,
): EnteredPolicy | EnteredFaults {
  const size = form.policy.length
  if (size === 0 || size > MAX_LENGTH)
    return { policy: [{ line: 1, message: LENGTH }], origin: null }
  const json = readJson(form.policy, 'policy')
  if ('message' in json) return { policy: [json], origin: null }
  const { value, lines } = json
  const isFile = FILE_FIELDS.some((name) => lines.has(`policy.${name}`))
  const file = isFile ? (value as { policy?: unknown; audiences?: unknown }) : { policy: value }
  const input = (file.policy ?? {}) as PolicyInput
  const audiences = file.audiences ?? form.origin.split(/[\s,]+/).filter(Boolean)
  const [first, ...others] = [audiences].flat().map(originOf)
  if (first === undefined) return { policy: [], origin: NO_ORIGIN }
  const options = { policy: input, audiences: [first, ...others] as const }
  const policy = validated(read, options)
  if (policy instanceof PolicyError) {
    return faultsOf(
      policy.mistakes,
      isFile ? (place) => `policy.${place}` : (place) => place,
      lines,
    )
  }
  if (policy.routes.length <= MAX_ROUTES) return { input, audiences: options.audiences, policy }
  const message = `The console takes up to ${MAX_ROUTES} routes. The gateway takes more.`
  return { policy: [{ line: 1, message }], origin: null }
}

/** By these, the file of `countersign-gateway` differs from a policy. */
const FILE_FIELDS = ['service', 'policy', 'audiences']

const NO_ORIGIN = 'Enter the origin of your site: signatures count for it alone.'
const BAD_ORIGIN = 'Enter origins such as https://shop.example, separated by spaces.'

/** @returns what is no origin as it is, for the gateway to refuse */
function originOf(entered: unknown): string {
  if (typeof entered !== 'string') return ''
  const url = URL.parse(entered)
  return url !== null && url.href === `${url.origin}/` ? url.origin : entered
}

/** Without sessions, so that the policy is valid with the configuration that is shown. */
function validated(
  read: ConsoleReadDeps,
  options: { readonly policy: PolicyInput; readonly audiences: readonly string[] },
): Policy | PolicyError {
  const service = readModelRegistry(read, {
    sampleOf: () => undefined,
    signer: null,
    certificate: null,
  })
  try {
    return new Gate({ ...options, service }).policy
  } catch (error) {
    if (error instanceof PolicyError) return error
    throw error
  }
}

/** @param placeInText where the text has what a mistake of the gateway names */
function faultsOf(
  mistakes: readonly string[],
  placeInText: (mistake: string) => string,
  lines: ReadonlyMap<string, number>,
): EnteredFaults {
  const located = mistakes
    .slice(0, MAX_FAULTS)
    .map((mistake) => ({ mistake, place: longestPlace(lines, placeInText(mistake)) }))
  const isOrigin = ({ mistake, place }: (typeof located)[number]) =>
    mistake.startsWith('audiences') && !place.includes('audiences')
  const faults = located
    .filter((each) => !isOrigin(each))
    .map(({ mistake, place }) => ({ line: lines.get(place) ?? 1, message: sentence(mistake) }))
  return {
    policy: faults.toSorted((a, b) => a.line - b.line),
    origin: located.some(isOrigin) ? BAD_ORIGIN : null,
  }
}

/** What a mistake begins with. A field that is missing has no place of its own, so it is at the one that should have it. */
function longestPlace(lines: ReadonlyMap<string, number>, mistake: string): string {
  let longest = ''
  for (const place of lines.keys()) {
    if (place.length > longest.length && mistake.startsWith(place)) longest = place
  }
  return longest
}

/** Without the marks of code. */
function sentence(mistake: string): string {
  return `${mistake.replace(/^policy\./, '').replaceAll('`', '')}.`
}
