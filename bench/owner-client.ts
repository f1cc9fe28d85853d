import { randomBytes } from 'node:crypto'
import type { Agent } from 'node:http'
import { startSession } from '../packages/server/src/accounts/owners/session.ts'
import {
  type DatabaseLocation,
  openDatabase,
} from '../packages/server/src/database/open-database.ts'
import { Cookies } from '../packages/server/src/http/cookies.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { type HttpRequest, JSON_TYPE, sendRequest } from './http-exchange.ts'
import { claimBody, keyPairOf } from './keys.ts'
import { CLAIM_PATH } from './scenarios.ts'
import { BASE_URL } from './systems.ts'

/**
 * Creates a session for an owner directly in the database.
 * @returns the headers that the owner's browser would send
 */
export async function signIn(place: DatabaseLocation, ownerId: number): Promise<OwnerHeaders> {
  const db = await openDatabase(place, Date.now, EFFECTS)
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

function tokenRequest(headers: OwnerHeaders): HttpRequest {
  return { method: 'POST', path: '/api/agents/token', headers, body: '{}' }
}

export function claimRequest(body: string): HttpRequest {
  return { method: 'POST', path: CLAIM_PATH, headers: JSON_TYPE, body }
}

export function revokeRequest(headers: OwnerHeaders, did: string): HttpRequest {
  const path = `/api/account/agents/${did}/revoke`
  return { method: 'POST', path, headers, body: '{"reason":"bench"}' }
}

/**
 * Creates a token and redeems it with a new key.
 * @returns the DID
 */
export async function claimAgent(
  port: number,
  headers: OwnerHeaders,
  keyName: string,
): Promise<string> {
  const { claimToken } = await sendExpecting(port, tokenRequest(headers), 201)
  const body = claimBody(claimToken as string, 'main', keyPairOf(keyName))
  const { svcDid } = await sendExpecting(port, claimRequest(body), 200)
  return svcDid as string
}

/**
 * @throws Error if the response has another status
 * @returns its body
 */
export async function sendExpecting(
  port: number,
  scenario: HttpRequest,
  status: number,
  agent?: Agent,
): Promise<Record<string, unknown>> {
  const answer = await sendRequest(port, scenario, agent)
  if (answer.status === status) return JSON.parse(`${answer.body}`)
  throw new Error(`${scenario.path} answered ${answer.status}: ${answer.body}`)
}
