import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { decodeJws } from '../../../../test/support/agent-certificates.ts'
import { openOperator, testEnv } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { replaceEpoch } from '../../src/agents/changes/feed-change-table.ts'
import { readSettings } from '../../src/base/config.ts'
import { siteOf } from '../../src/base/site.ts'
import { appendAgentEvent } from '../../src/database/event-table.ts'
import { openSender } from '../../src/http/outbound/open-sender.ts'
import { IssuerKeyRing } from '../../src/secrets/issuer-keys/issuer-keys.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import { DueDeliveries } from '../../src/webhooks/due-deliveries.ts'
import { createEndpoint } from '../../src/webhooks/manage-endpoints.ts'
import { startReceiver } from './support/receiver.ts'

const BACKLOG = process.env.TEST_TIER === 'nightly' ? 10_000 : 2_000
const BATCH = 500
/** About ten times as long as on a machine that does nothing else. */
const DEADLINE_MS = 900_000

test('a backlog reaches a receiver that was down, each event once and in order', async (t) => {
  const start = Date.now()
  let ahead = 0
  const now = () => start + ahead
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings, now)
  const { db } = operator
  await db.write((tx) => replaceEpoch(tx, now()))
  const sender = openSender(settings, 'Countersign/test')
  const issuerKeys = await IssuerKeyRing.open({
    db,
    folders: settings,
    now,
    // It is not refreshed here.
    elapsed: () => 0,
    certificateLifetimeMs: 1,
  })
  const keys = createLocalJWKSet(issuerKeys.keySet() as Parameters<typeof createLocalJWKSet>[0])
  const site = siteOf(settings.naming, settings.baseUrl)
  const pepper = loadPepper(settings)
  const webhookKey = await openServiceKey({ db, folders: settings }, 'webhook')
  const common = { db, site, serviceName: 'Example ID', pepper, now, randomBytes }
  const deps = { ...common, webhookKey, issuerKeys, sender }
  const errors: unknown[] = []
  const node = new DueDeliveries(deps, (error) => errors.push(error))
  t.after(async () => {
    await node.stop()
    await sender.close()
    await operator.close()
  })

  const receiver = await startReceiver(t)
  receiver.behaviour = 503
  const authorization = 'Bearer abc'
  const { url } = await createEndpoint(deps, null, {
    url: receiver.url,
    format: 'set',
    authorization,
  })
  const types = ['agent.suspended', 'agent.reactivated'] as const
  for (let from = 0; from < BACKLOG; from += BATCH) {
    await db.write(async (tx) => {
      for (let i = 0; i < BATCH; i++) {
        const about = { tail: 'a'.repeat(24), ownerId: null, at: now(), payload: {} }
        await appendAgentEvent(tx, { ...about, seq: tx.nextSeq(), type: types[i % 2] ?? types[0] })
      }
    })
  }
  const untilReceived = (count: number) =>
    until(
      async () => {
        await issuerKeys.refresh()
        await node.run()
        return receiver.received.length >= count
      },
      DEADLINE_MS,
      50,
    )
  await untilReceived(1)
  receiver.received.length = 0
  receiver.behaviour = 202
  ahead += 60_000
  const began = performance.now()
  await untilReceived(BACKLOG)
  const seconds = (performance.now() - began) / 1000
  t.diagnostic(
    `${BACKLOG} deliveries in ${seconds.toFixed(1)} s: ${Math.round(BACKLOG / seconds)}/s`,
  )

  const tokens = receiver.received.map(({ body }) => body)
  const claims = tokens.map(
    (each) => decodeJws(each).claims as unknown as { readonly txn: string; readonly jti: string },
  )
  const seqs = claims.map(({ txn }) => Number(txn.split('-').at(-1)))
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  )
  assert.deepEqual([seqs.length, new Set(claims.map(({ jti }) => jti)).size], [BACKLOG, BACKLOG])
  for (const token of tokens.filter((_, i) => i % 500 === 0)) {
    await jwtVerify(token, keys, { issuer: site.baseUrl, audience: url, typ: 'secevent+jwt' })
  }
  assert.ok(receiver.received.every(({ headers }) => headers.authorization === authorization))
  assert.deepEqual(errors, [])
})
