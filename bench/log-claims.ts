import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../packages/server/src/database/open-database.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { HOST } from './http-exchange.ts'
import { claimBody, keyPairOf } from './keys.ts'

/** Owners with a token each, by the schema of this checkout, which the release before ignores. @returns the claims */
export async function seedClaims(file: string, count: number): Promise<string[]> {
  const db = await openDatabase({ kind: 'sqlite', file }, Date.now, EFFECTS)
  const now = Date.now()
  const tokens = Array.from(
    { length: count },
    () => `svc-verify-${randomBytes(16).toString('hex')}`,
  )
  await db.write(async (tx) => {
    for (const [i, token] of tokens.entries()) {
      const names = { username: `owner-${i}`, display_name: `Owner ${i}` }
      const empty = {
        username_skeleton: null,
        user_handle: null,
        deleted_at: null,
        suspended_at: null,
      }
      const rest = { suspension_reason: null, name_changed_at: null, badge_copied_at: null }
      const owner = { ...names, ...empty, ...rest, onboarding_hidden_at: null, created_at: now }
      await tx.db
        .insertInto('owners')
        .values({ ...owner, id: i + 1 })
        .execute()
      const hash = createHash('sha256').update(token).digest()
      const times = { created_at: now, expires_at: now + 86_400_000 }
      const unused = { used_at: null, superseded_at: null, position: 0 }
      await tx.db
        .insertInto('claim_tokens')
        .values({ hash, owner_id: i + 1, ...times, ...unused })
        .execute()
    }
  })
  await db.close()
  return tokens.map((token, i) => claimBody(token, 'main', keyPairOf(`claim ${i}`)))
}

/** Sends claims, with so many in flight. Resolves when each has been answered with 200. */
export async function postClaims(
  port: number,
  bodies: readonly string[],
  connections: number,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const left = bodies.values()
  const send = async () => {
    for (const body of left) await post(port, body, agent)
  }
  await Promise.all(Array.from({ length: connections }, send))
  agent.destroy()
}

/** Repeats what the service refuses because of overload. */
async function post(port: number, body: string, agent: Agent): Promise<void> {
  for (;;) {
    const status = await postOnce(port, body, agent)
    if (status === 200) return
    if (status !== 503) throw new Error(`status ${status}`)
    await sleep(100)
  }
}

function postOnce(port: number, body: string, agent: Agent): Promise<number> {
  return new Promise((done, failed) => {
    const headers = { 'content-type': 'application/json' }
    const options = { host: HOST, port, path: '/api/v1/claim', method: 'POST', headers, agent }
    const sent = request(options, (response) => {
      response.resume()
      response.on('end', () => done(response.statusCode ?? 0))
    })
    sent.on('error', failed)
    sent.end(body)
  })
}
