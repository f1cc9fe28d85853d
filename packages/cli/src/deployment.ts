import { type Naming, namingFor, SHORT_NAME_PATTERN } from '@countersign/protocol'

/**
 * This command serves every deployment: which short name one has stands in its DIDs, claim tokens and answers.
 * Each function gives the names of that deployment, or null where the text or object does not tell.
 */

/** `svc:agent:…` */
export function namingOfDid(text: string): Naming | null {
  return namingBefore(':agent:', text)
}

/** `svc-verify-…`, with whatever follows */
export function namingOfToken(text: string): Naming | null {
  return namingBefore('-verify-', text)
}

/** `svc-challenge-v1:…` */
export function namingOfChallenge(text: string): Naming | null {
  return namingBefore('-challenge-v1:', text)
}

/** An answer in which one field, `svcDid`, carries a DID. */
export function namingOfObject(value: unknown): Naming | null {
  if (typeof value !== 'object' || value === null) return null
  const [field, ...more] = Object.keys(value).filter((name) => name.endsWith('Did'))
  return field === undefined || more.length > 0 ? null : namingOf(field.slice(0, -'Did'.length))
}

/** The DID in an answer that has been checked: under the one field that ends in `Did`. */
export function didIn(answer: object): string {
  const entry = Object.entries(answer).find(([name]) => name.endsWith('Did'))
  return String(entry?.[1])
}

function namingBefore(mark: string, text: string): Naming | null {
  const end = text.indexOf(mark)
  return end === -1 ? null : namingOf(text.slice(0, end))
}

function namingOf(shortName: string): Naming | null {
  return SHORT_NAME_PATTERN.test(shortName) ? namingFor(shortName) : null
}
