import { randomBytes } from 'node:crypto'
import type { Agent } from 'node:http'
import {
  type DatabaseLocation,
  openDatabase,
} from '../packages/server/src/core/database/open-database.ts'
import { Cookies } from '../packages/server/src/core/http/cookies.ts'
import { startSession } from '../packages/server/src/owners/session.ts'
import { type Ask, ask, JSON_TYPE } from './exchange.ts'
import { claimBody, keyPairOf } from './keys.ts'
import { CLAIM_PATH } from './questions.ts'
import { BASE_URL } from './systems.ts'

/** Starts a session for an owner, without a ceremony. @returns what the owner's browser would send */
export async function signIn(place: DatabaseLocation, ownerId: number): Promise<OwnerHeaders> {
  const db = await openDatabase(place, Date.now)
  try {
    const token = await db.write((tx) =>
      startSession({ now: Date.now, randomBytes }, tx, {
        id: ownerId,
        method: 'passkey',
        browser: { session: null, userAgent: 'bench' },
      }),
    )
    const Cookie = `${new Cookies(BASE_URL).name('session')}=${token}`
    return { ...JSON_TYPE, Cookie, Origin: BASE_URL }
  } finally {
    await db.close()
  }
}

export type OwnerHeaders = Readonly<Record<string, string>>

function tokenAsk(headers: OwnerHeaders): Ask {
  return { method: 'POST', path: '/api/agents/token', headers, body: '{}' }
}

export function claimAsk(body: string): Ask {
  return { method: 'POST', path: CLAIM_PATH, headers: JSON_TYPE, body }
}

export function revokeAsk(headers: OwnerHeaders, did: string): Ask {
  const path = `/api/account/agents/${did}/revoke`
  return { method: 'POST', path, headers, body: '{"reason":"bench"}' }
}

/** Issues a token and redeems it, with a key of its own. @returns the DID */
export async function claimAgent(
  port: number,
  headers: OwnerHeaders,
  keyName: string,
  agent?: Agent,
): Promise<string> {
  const { claimToken } = await demand(port, tokenAsk(headers), 201, agent)
  const body = claimBody(claimToken as string, 'main', keyPairOf(keyName))
  const { svcDid } = await demand(port, claimAsk(body), 200, agent)
  return svcDid as string
}

/** @throws Error where the answer has another status. @returns its body */
export async function demand(
  port: number,
  question: Ask,
  status: number,
  agent?: Agent,
): Promise<Record<string, unknown>> {
  const answer = await ask(port, question, agent)
  if (answer.status === status) return JSON.parse(`${answer.body}`)
  throw new Error(`${question.path} answered ${answer.status}: ${answer.body}`)
}
