import { parseJson } from '../../http/outbound/bounded-fetch.ts'
import {
  type Page,
  type Perspective,
  ProofAbsent,
  Unreachable,
} from '../../http/outbound/perspective.ts'

/** The response of a platform's API. */
export interface JsonResponse {
  readonly status: number
  /** Undefined if the body is not JSON. */
  readonly body: unknown
}

/**
 * Fetches JSON from a platform's API. `Perspective.get` limits its time and size.
 * @param accept the value of the `Accept` header
 * @returns the response, whatever its status below 500 except 429
 * @throws ProofAbsent if the host has no address, Unreachable if it fails or limits our requests
 */
export async function askJson(
  from: Perspective,
  url: URL,
  accept = 'application/json',
): Promise<JsonResponse> {
  const page = await from.get(url, accept)
  assertAvailable(page, url)
  return { status: page.status, body: parseJson(page.text) }
}

/**
 * Wraps a perspective for requests to a well-known platform's host. If a resolver says that this host does not exist, the
 * resolver is wrong: that is Unreachable, not a missing proof.
 */
export function platformPerspective(from: Perspective): Perspective {
  return {
    name: from.name,
    txt: (name) => from.txt(name),
    async get(url, accept) {
      try {
        return await from.get(url, accept)
      } catch (error) {
        if (!(error instanceof ProofAbsent)) throw error
        throw new Unreachable(`${url.hostname} is not known to ${from.name}.`)
      }
    },
  }
}

/** @throws Unreachable if the status is 429 or 500 and above */
export function assertAvailable({ status }: Page, { hostname }: URL): void {
  if (status === 429) {
    throw new Unreachable(`${hostname} has been asked too often and wants us to come back later.`)
  }
  if (status >= 500) throw new Unreachable(`${hostname} has a failure of its own (${status}).`)
}

/** The error for a response that proves nothing and disproves nothing. */
export function unexpectedResponse(
  { hostname }: URL,
  { status }: Pick<Page, 'status'>,
): Unreachable {
  return new Unreachable(`${hostname} gives an answer that cannot be read (${status}).`)
}

/** An own property of a parsed JSON value; undefined if there is none. */
export function ownProperty(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

/** An own property of a parsed JSON value that is a string; null if there is none. */
export function ownString(value: unknown, name: string): string | null {
  const text = ownProperty(value, name)
  return typeof text === 'string' ? text : null
}
