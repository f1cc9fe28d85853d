import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { IssuerFollower } from '../../packages/gateway/src/issuers/issuer-follower.ts'
import { certificateOf } from '../support/agent-certificates.ts'
import { ask } from '../support/ask.ts'
import { claimAgent, startTestService, type TestService } from '../support/service.ts'
import { setStatus } from '../support/set-status.ts'
import { referenceIn } from '../support/status-feed.ts'
import { until } from '../support/until.ts'
import { report } from './support/report.ts'

const GATEWAYS = 20
/** Of the gateways: started again while strangers hold the streams. */
const RESTARTED = 3
const STREAMS = 1000
/** From the request for a revocation until the last gateway refuses the agent, in milliseconds. */
const PROMISED_MS = 6000
/** From how many addresses the strangers come, and how these are spread over networks. */
const STRANGERS: Readonly<Record<string, (i: number) => string>> = {
  '5 addresses of 5 networks': (i) => `10.0.${i % 5}.1`,
  '25 addresses of 25 networks': (i) => `10.0.${i % 25}.1`,
  '1,000 addresses of 1,000 networks': (i) => `10.${i >> 8}.${i & 255}.1`,
}

/** Opens a stream as a trusted proxy does. @returns whether it got a place */
function openStream(t: TestContext, url: string, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': address }
    const asked = request(`${url}/api/v1/feed`, { agent: false, headers })
    asked.on('response', (response) => {
      response.resume().on('error', () => undefined)
      resolve(response.statusCode === 200)
    })
    asked.on('error', () => resolve(false)).end()
    t.after(() => asked.destroy())
  })
}

function follow(t: TestContext, { url }: TestService): IssuerFollower {
  const clocks = { elapsed: () => performance.now(), now: Date.now }
  const follower = new IssuerFollower({ issuer: url, base: url, jwks: null, ...clocks })
  t.after(() => follower.stop())
  return follower
}

for (const [strangers, addressOf] of Object.entries(STRANGERS)) {
  test(`the feed is held by strangers at ${strangers}, at the restart of the service: revocations arrive`, async (t) => {
    const env = { TRUSTED_PROXIES: '127.0.0.0/8,::1', RATE_LIMITS: 'off' }
    const first = await startTestService(t, env)
    const owner = await first.operator.addVerifiedOwner()
    const did = await claimAgent(first, owner)
    const { list, idx } = referenceIn(await certificateOf(first, did))
    const followers = Array.from({ length: GATEWAYS - RESTARTED }, () => follow(t, first))
    await Promise.all(followers.map((each) => each.ready))
    const { DATA_DIR, PORT } = first.env as { DATA_DIR: string; PORT: string }
    await first.stop()

    const service = await startTestService(t, { ...env, DATA_DIR, PORT })
    const opened: Promise<boolean>[] = []
    for (let i = 0; i < STREAMS; i += 1) opened.push(openStream(t, service.url, addressOf(i)))
    for (let i = 0; i < RESTARTED; i += 1) followers.push(follow(t, service))
    const held = (await Promise.all(opened)).filter(Boolean).length
    await Promise.all(followers.map((each) => each.ready))
    await until(async () =>
      followers.every(
        (each) => each.status(list, idx)?.status === 'valid' && each.statusAgeMs < PROMISED_MS,
      ),
    )
    const began = performance.now()
    const times: number[] = []
    const refused = followers.map(async (each) => {
      await until(async () => each.status(list, idx)?.status === 'invalid')
      times.push(performance.now() - began)
    })
    await Promise.all([setStatus(service, did, 'revoked'), ...refused])
    const longest = Math.round(Math.max(...times))
    report(t, {
      strangers,
      'streams that they opened': held,
      gateways: `${GATEWAYS}, of which ${RESTARTED} started after the strangers came`,
      'first refusal after': `${Math.round(Math.min(...times))} ms`,
      'last refusal after': `${longest} ms`,
    })
    assert.ok(longest <= PROMISED_MS, `${longest} ms`)
    assert.equal((await ask(service, '/api/v1/feed/latest')).status, 200)
  })
}
