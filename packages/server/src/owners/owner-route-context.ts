import { errorSchema } from '@countersign/protocol'
import type { FastifySchema } from 'fastify'
import type { OwnerDeps } from '../core/deps.ts'
import type { Cookies } from '../core/http/cookies.ts'
import type { SignedIn } from './signed-in.ts'

/** What the routes of the owners' side share. */
export interface OwnerSide {
  readonly deps: OwnerDeps
  readonly cookies: Cookies
  readonly signedIn: SignedIn
}

/** Adds the refusals to a route's schema, and the tag under which the dashboard's own API stands. */
export function ownerSchema<T extends FastifySchema & { response: object }>(schema: T) {
  return {
    tags: ['owner'],
    ...schema,
    response: { '4xx': errorSchema(), '5xx': errorSchema(), ...schema.response },
  }
}

/** An answer without a body. */
export function nothing(description: string) {
  return { type: 'null', description } as const
}
