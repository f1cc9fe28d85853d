import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AgentKeys } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import type { TestKey } from '../../../../test/support/key.ts'
import { recoveryBody, type Signed, vetoBody } from '../../../../test/support/key-operations.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import type { TestService } from '../../../../test/support/service.ts'
import { type SignedInOwner, withCookie } from '../../../../test/support/signed-in.ts'
import { Cookies } from '../../src/core/http/cookies.ts'
import { startSession } from '../../src/owners/session.ts'

export const AGENTS = '/api/account/agents'
export const HOUR_MS = 3_600_000

/** A clock that the test moves. */
export class TestClock {
  offset = 0
  readonly now = (): number => Date.now() + this.offset
  /** For what is signed: Unix seconds. */
  get signed(): { readonly issuedAt: number } {
    return { issuedAt: Math.floor(this.now() / 1000) }
  }
  advance(hours: number): void {
    this.offset += hours * HOUR_MS
  }
}

interface SignIn {
  readonly method?: 'passkey' | 'provider' | 'link' | 'recovery-code'
  /** When the method was added, in milliseconds since 1970. */
  readonly addedAt?: number
  readonly signedInAt?: number
}

/** Signs an owner in with a method that was added 80 hours ago, unless the test says otherwise. */
export async function signInBy(
  service: TestService,
  ownerId: number,
  now: () => number,
  { method = 'passkey', addedAt = now() - 80 * HOUR_MS, signedInAt = now() }: SignIn = {},
): Promise<SignedInOwner> {
  const id = randomBytes(12).toString('base64url')
  const provider = `provider-${id}`
  const token = await service.operator.db.write(async (tx) => {
    const method_ = { owner_id: ownerId, created_at: addedAt }
    if (method === 'passkey') {
      const unused = { public_key: randomBytes(32), counter: 0, transports: '[]', backed_up: 0 }
      await tx.db
        .insertInto('passkeys')
        .values({ credential_id: id, ...method_, ...unused, name: id, last_used_at: null } as never)
        .execute()
    }
    if (method === 'provider') {
      const identity = { provider, subject_hash: randomBytes(32), ...method_ }
      await tx.db.insertInto('sign_in_identities').values(identity).execute()
    }
    return startSession({ now: () => signedInAt, randomBytes }, tx, {
      id: ownerId,
      method,
      browser: { session: null, userAgent: 'a test' },
      ...(method === 'passkey' && { passkeyId: id }),
      ...(method === 'provider' && { provider }),
    })
  })
  const { origin } = service.settings.baseUrl
  const cookie = `${new Cookies(origin).name('session')}=${token}`
  return withCookie(service, ownerId, cookie)
}

export async function keysOf(service: TestService, did: string): Promise<AgentKeys> {
  const answer = await ask(service, `/api/v1/agent/${did}/keys`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AgentKeys>(answer)
}

/** The keys of an agent as `[sequence, state, how it became current]`. */
export async function historyOf(service: TestService, did: string): Promise<unknown[]> {
  const { keys } = await keysOf(service, did)
  return keys.map(({ sequence, state, changedBy }) => [sequence, state, changedBy])
}

/** Asserts that a key proves an agent, everywhere. */
export async function assertProves(service: TestService, key: TestKey, did: string): Promise<void> {
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  assert.equal(verified.status, 200, verified.text)
  const { agent } = jsonOf<{ agent: { svcDid: string } }>(verified)
  assert.deepEqual([jsonOf(verified).verified, agent.svcDid], [true, did])
  assert.equal(jsonOf(await ask(service, `/api/agents/${did}`)).publicKey, key.publicKey)
  const { text } = await ask(service, `/agent/${did}/jwks.json`)
  assert.ok(text.includes(Buffer.from(key.publicKey, 'base64').toString('base64url')))
}

/** Asserts that a key verifies nowhere, with a message that says why. */
export async function assertEnded(
  service: TestService,
  key: TestKey,
  message: RegExp,
): Promise<void> {
  const lookup = await ask(service, `/api/v1/agent/${encodeURIComponent(key.publicKey)}`)
  assertRefused(lookup, 404, 'NOT_FOUND', message)
  const verified = await post(service, '/api/v1/agent/verify', verifyBody(key))
  assertRefused(verified, 404, 'NOT_FOUND', message)
}

export const REPLACED = /was replaced at \d{4}-\d\d-\d\dT/
export const REPORTED = /reported as compromised.*since \d{4}-\d\d-\d\dT/

export function recoverWith(
  service: TestService,
  did: string,
  request: { token: string; next: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = recoveryBody(service, did, request, changed)
  return post(service, `/api/v1/agent/${did}/recover`, body)
}

export function veto(
  service: TestService,
  did: string,
  request: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = vetoBody(service, did, request, changed)
  return post(service, `/api/v1/agent/${did}/recovery/veto`, body)
}

/** Starts a recovery. @returns the token */
export async function startRecovery(
  owner: SignedInOwner,
  did: string,
  reason: 'key_lost' | 'key_compromised',
): Promise<string> {
  const answer = await owner.post(`${AGENTS}/${did}/recovery`, { reason })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf(answer).recoveryToken as string
}
