import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificatePath, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { post } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotationBody } from '../../../../../test/support/key-operations.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { rawGet } from '../../../../../test/support/raw-get.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Twenty minutes past ten. */
const START = Date.UTC(2026, 0, 5, 10, 20)

/** An answer before the router. */
const plain = (service: TestService, did: string, headers: string[] = []) =>
  rawGet(service, certificatePath(did), headers)

/** The router answers whatever has a query. */
const routed = (service: TestService, did: string, headers: string[] = []) =>
  rawGet(service, certificatePath(did, '?'), headers)

/** Both answers, which must not differ. */
async function answerOf(service: TestService, did: string) {
  const answer = await plain(service, did)
  assert.deepEqual(await routed(service, did), answer)
  return answer
}

test('every change of an agent counts for the next certificate', async (t) => {
  let time = START
  const service = await startTestService(t, {}, () => time)
  const { operator, settings } = service
  const owner = await operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  const claims = async () => decodeJws((await plain(service, did)).body).claims
  const comparedClaims = async () => decodeJws((await answerOf(service, did)).body).claims
  await untilLogged(service, 1)
  const first = await comparedClaims()
  assert.deepEqual([first.identityLevel, first.log?.index], ['verified', 0])

  const verifying = { db: operator.db, now: () => time, pepper: loadPepper(settings) }
  const expiresAt = START + 2 * MINUTE
  await verifyOwner(verifying, owner, {
    provider: 'in-person',
    issuer: 'host',
    subject: String(owner),
    assurance: 'substantial',
    expiresAt,
  })
  await untilTicked(service, async () => (await claims()).exp * 1000 === expiresAt)
  const { status } = await comparedClaims()
  assert.deepEqual(status, first.status)

  time = expiresAt
  const expired = await comparedClaims()
  assert.deepEqual([expired.identityLevel, expired.grade], ['unverified', 'E'])
  assert.notDeepEqual(expired.status, status, 'the entry of what was verified is another')

  time = START + HOUR
  assert.equal((await comparedClaims()).iat * 1000, Date.UTC(2026, 0, 5, 11))

  const next = newKey()
  const issuedAt = time / 1000
  const body = rotationBody(service, did, { old: key, next, sequence: 2 }, { issuedAt })
  assert.equal((await post(service, `/api/v1/agent/${did}/keys`, body)).status, 200)
  const x = Buffer.from(next.publicKey, 'base64').toString('base64url')
  assert.equal((await claims()).cnf.jwk.x, x)
  await untilTicked(service, async () => (await claims()).log !== undefined)
  const rotated = await comparedClaims()
  assert.equal(rotated.keySequence, 2)
  assert.notEqual(rotated.log?.index, 0)

  for (const [status, code] of [
    ['suspended', 409],
    ['active', 200],
    ['revoked', 409],
  ] as const) {
    await setStatus(service, did, status)
    assert.equal((await plain(service, did)).status, code)
    assert.equal((await routed(service, did)).status, code)
  }
})

test('certificates before and through the router are both counted in the metrics', async (t) => {
  const METRICS_PORT = String(await freePort())
  const service = await startTestService(t, { METRICS_PORT })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (let i = 0; i < 3; i += 1) await plain(service, did)
  await routed(service, did)
  const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  const labels = 'route="/api/v1/agent/:agent/certificate",method="GET",status="200"'
  assert.match(metrics, new RegExp(`http_request_duration_seconds_count\\{${labels}\\} 4\n`))
})
