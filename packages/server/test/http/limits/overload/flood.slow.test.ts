import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../../../../../test/support/key.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
  testEnv,
} from '../../../../../../test/support/service.ts'
import { startSessionOf } from '../../../../../../test/support/signed-in.ts'
import { readSettings } from '../../../../src/base/config.ts'
import type { FloodResult } from './flood-load.ts'
import { PATIENT } from './support.ts'

const CONNECTIONS = 4000
const FLOOD_MS = 15_000
const REVOCATIONS = 100
/**
 * A revocation has its own limits, so it does not queue behind the verifications of all connections. Counted in answers, not in
 * seconds, because a busy machine slows both down. Of nine in ten: a single one may have to wait for the disk.
 */
const MAX_ANSWERED_MEANWHILE = CONNECTIONS

test('while 4,000 connections flood it, it closes no connection, and revocations do not wait for them', async (t) => {
  const env = await testEnv(t, PATIENT)
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const service = await startServiceProcess(t, env)
  const holder = await operator.addVerifiedOwner()
  const key = newKey()
  const claim = async (agentId: string, claimKey = newKey()) => {
    const body = claimBody(await operator.issueToken(holder), claimKey, agentId)
    const response = await postJson(`${service.url}/api/v1/claim`, body)
    return ((await response.json()) as { svcDid: string }).svcDid
  }
  await claim('verified', key)
  const dids: string[] = []
  for (let i = 0; i < REVOCATIONS; i++) dids.push(await claim(`revoked-${i}`))
  const owner = await startSessionOf({ operator, settings }, holder)
  const json = JSON.stringify(verifyBody(key))
  const flood = spawn(process.execPath, [
    join(import.meta.dirname, 'flood-load.ts'),
    ...[settings.port, CONNECTIONS, FLOOD_MS].map(String),
  ])
  t.after(() => flood.kill())
  flood.stdin.end(
    `POST /api/v1/agent/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  )
  const output = text(flood.stdout)
  await once(flood.stderr, 'data')

  const revocations: { readonly began: number; readonly ended: number }[] = []
  for (const did of dids) {
    const began = performance.timeOrigin + performance.now()
    const response = await fetch(`${service.url}/api/account/agents/${did}/revoke`, {
      method: 'POST',
      headers: { ...owner, 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(response.status, 200, await response.text())
    revocations.push({ began, ended: performance.timeOrigin + performance.now() })
    // Spreads the revocations over the flood.
    await sleep(FLOOD_MS / REVOCATIONS / 2)
  }
  const { admitted, admittedAt, refused, closed } = JSON.parse(await output) as FloodResult
  const durations = revocations.map(({ began, ended }) => ended - began).sort((a, b) => a - b)
  const answeredMeanwhile = revocations
    .map(({ began, ended }) => admittedAt.filter((time) => time > began && time < ended).length)
    .sort((a, b) => a - b)
  const most = at(answeredMeanwhile, 0.9)
  t.diagnostic(
    `verify: ${admitted.length} admitted, p50 ${at(admitted, 0.5)} ms, longest ${at(admitted, 1)} ms; ${refused} refused; revoke: p50 ${at(durations, 0.5)} ms, p98 ${at(durations, 0.98)} ms, longest ${at(durations, 1)} ms, p90 ${most} verifications meanwhile`,
  )
  assert.equal(closed, 0)
  assert.ok(admitted.length > 0)
  assert.ok(refused > 0)
  assert.ok(
    most < MAX_ANSWERED_MEANWHILE,
    `p90: ${most} verifications were answered before a revocation`,
  )
})

/** Rounded, in milliseconds. @param times ascending */
function at(times: readonly number[], part: number): number {
  return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] as number)
}
