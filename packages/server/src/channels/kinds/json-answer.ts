import { parseJson } from '../../core/network/bounded-fetch.ts'
import {
  type Page,
  type Perspective,
  ProofAbsent,
  Unreachable,
} from '../../core/network/perspective.ts'

/** What a platform's API has answered. */
export interface JsonAnswer {
  readonly status: number
  /** Undefined where it is no JSON. */
  readonly body: unknown
}

/**
 * Asks an API of a platform.
 * @throws ProofAbsent where the host has no address, Unreachable where it does not answer as it should or asks us to wait
 */
export async function askJson(
  from: Perspective,
  url: URL,
  accept = 'application/json',
): Promise<JsonAnswer> {
  const page = await from.get(url, accept)
  requireTime(page, url)
  return { status: page.status, body: parseJson(page.text) }
}

/**
 * A view in which the host of a platform that everybody knows cannot be missing: where a resolver denies it, that says
 * nothing of an account.
 */
export function ofKnownHost(from: Perspective): Perspective {
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

/** @throws Unreachable where a server has failed, or has no time for us now */
export function requireTime({ status }: Page, { hostname }: URL): void {
  if (status === 429) {
    throw new Unreachable(`${hostname} has been asked too often and wants us to come back later.`)
  }
  if (status >= 500) throw new Unreachable(`${hostname} has a failure of its own (${status}).`)
}

/** For an answer of which nothing can be learnt. */
export function unknownAnswer({ hostname }: URL, { status }: Pick<Page, 'status'>): Unreachable {
  return new Unreachable(`${hostname} gives an answer that cannot be read (${status}).`)
}

/** A property of its own that a value out of JSON has, else undefined. */
export function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

/** A text that a value out of JSON has as a property of its own, else null. */
export function ownText(value: unknown, name: string): string | null {
  const text = own(value, name)
  return typeof text === 'string' ? text : null
}
