import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Evidence, keyThumbprint } from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { allowDelegation } from '../../../../../test/support/allow-delegation.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { delegateTo } from '../../../../../test/support/chains.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  evidenceBy,
  reportBody,
  reportNew,
  SHOP,
  sendReport,
} from '../../../../../test/support/reports.ts'
import { rotateKey } from '../../../../../test/support/rotate-key.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { TestClock } from '../../../../../test/support/sign-in-by.ts'
import { newAgent, type OwnedAgent, received, reportsOf, reportsPath } from './with-reports.ts'

const DAY_HOURS = 24
/** Of an empty body. */
const DIGEST = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
const ends: (() => unknown)[] = []
const clock = new TestClock()
let service: TestService
let agent: OwnedAgent

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
  agent = await newAgent(service)
})
after(async () => {
  for (const end of ends) await end()
})

afterEach(() => {
  clock.offset = 0
})

const thumbprintOf = (publicKey: string) => keyThumbprint(Buffer.from(publicKey, 'base64'))

async function assertNoEvidence(evidence: readonly Evidence[], reason: RegExp): Promise<void> {
  const answer = await sendReport(service, reportBody(agent.did, evidence))
  assertRefused(answer, 400, 'VALIDATION_ERROR', reason)
}

test('requests that two published libraries have signed are evidence', async () => {
  const libraries = ['http-message-signatures', 'http-message-sig'] as const
  const headers = { 'content-type': 'text/plain', 'content-digest': DIGEST }
  const evidence = await Promise.all(
    libraries.map((library) => evidenceBy(service, agent, { library, method: 'POST', headers })),
  )
  const { id } = received(await sendReport(service, reportBody(agent.did, evidence)))
  const report = (await reportsOf(agent.owner, agent.did)).reports.find((each) => each.id === id)
  assert.deepEqual(
    report?.requests.map(({ method, path, url, keyid, delegate, key }) => ({
      ...{ method, path, url, keyid, delegate, key },
    })),
    evidence.map(({ method, url }) => ({
      method,
      path: '/search',
      url,
      keyid: thumbprintOf(agent.key.publicKey),
      delegate: null,
      key: { sequence: 1, state: 'current', until: null },
    })),
  )
  assert.equal(report?.host, 'shop.example')
})

test('only what the signature covers is stored', async () => {
  const sent = await evidenceBy(service, agent)
  const more = [...sent.headers, ['x-forwarded-for', '192.0.2.7'], ['host', 'shop.example']]
  const { id } = received(
    await sendReport(service, reportBody(agent.did, [{ ...sent, headers: more }])),
  )
  const answer = await agent.owner.get(reportsPath(agent.did, `/${id}/evidence`))
  const { evidence } = JSON.parse(answer.text) as { evidence: Evidence[] }
  const sorted = (headers: Evidence['headers']) => headers.toSorted()
  assert.deepEqual(sorted(evidence[0]?.headers ?? []), sorted(sent.headers))
  assert.equal(evidence[0]?.url, sent.url)
})

test('a request for another host, of another agent, or that is changed, is no evidence', async () => {
  const other = await newAgent(service)
  const sent = await evidenceBy(service, agent)
  const withHeader = (name: string, change: (value: string) => string): Evidence => ({
    ...sent,
    headers: sent.headers.map(([each = '', value = '']) => [
      each,
      each === name ? change(value) : value,
    ]),
  })
  await assertNoEvidence([], /evidence/)
  await assertNoEvidence([{ ...sent, headers: [] }], /evidence\[0\].*unsigned/)
  await assertNoEvidence([{ ...sent, url: 'https://rival.example/search?q=1' }], /bad-signature/)
  await assertNoEvidence([{ ...sent, url: `${SHOP}/search?q=2` }], /bad-signature/)
  await assertNoEvidence([{ ...sent, method: 'HEAD' }], /bad-signature/)
  await assertNoEvidence([await evidenceBy(service, other)], /untrusted-agent/)
  const byOther = { did: agent.did, key: other.key }
  await assertNoEvidence([await evidenceBy(service, byOther)], /unknown-key/)
  const flip = (value: string) =>
    value.replace(/:(.)/, (_, first) => `:${first === 'A' ? 'B' : 'A'}`)
  await assertNoEvidence([withHeader('signature', flip)], /bad-signature/)
  await assertNoEvidence([withHeader('serviceid', () => other.did)], /bad-signature/)
  const without = sent.headers.filter(([name]) => name !== 'serviceid')
  await assertNoEvidence([{ ...sent, headers: without }], /malformed/)
  await assertNoEvidence([sent, sent], /evidence\[1\] is in this report already/)
  const elsewhere = await evidenceBy(service, agent, { url: 'https://rival.example/' })
  await assertNoEvidence([sent, elsewhere], /evidence\[1\] is for rival\.example/)
  await assertNoEvidence([{ ...sent, url: 'https://user:secret@shop.example/' }], /bad-host/)
  const long = `https://${'a'.repeat(300)}.example/`
  await assertNoEvidence([await evidenceBy(service, agent, { url: long })], /no valid host/)
  await assertNoEvidence([{ ...sent, url: 'http://shop.example/search?q=1' }], /insecure/)
  received(await sendReport(service, reportBody(agent.did, [sent])))
})

test('a request with credentials is refused', async () => {
  for (const name of ['Cookie', 'authorization', 'Proxy-Authorization']) {
    const sent = await evidenceBy(service, agent)
    const headers = [...sent.headers, [name, 'x']]
    await assertNoEvidence([{ ...sent, headers }], /without credentials/)
  }
  const covered = await evidenceBy(service, agent, { headers: { authorization: 'Bearer x' } })
  await assertNoEvidence([covered], /without credentials/)
  const headers = covered.headers.filter(([name]) => name !== 'authorization')
  await assertNoEvidence([{ ...covered, headers }], /malformed/)
})

test('a signature from before the claim, from the future, or older than 30 days, is no evidence', async () => {
  const now = clock.now()
  await assertNoEvidence([await evidenceBy(service, agent, { createdAt: now - 600_000 })], /key/)
  await assertNoEvidence(
    [await evidenceBy(service, agent, { createdAt: now + 120_000 })],
    /not-yet-valid/,
  )
  const sent = await evidenceBy(service, agent, { createdAt: now })
  clock.advance(29.9 * DAY_HOURS)
  const later = await evidenceBy(service, agent, { createdAt: now })
  received(await sendReport(service, reportBody(agent.did, [later])))
  clock.advance(0.2 * DAY_HOURS)
  await assertNoEvidence([sent], /30 days/)
})

test('a key counts in its own time, also once it is replaced or reported as compromised', async () => {
  const own = await newAgent(service)
  const former = own.key
  const before = await evidenceBy(service, own)
  const again = await evidenceBy(service, own)
  const next = newKey()
  clock.advance(1)
  await rotateKey(service, own.did, Buffer.from(next.publicKey, 'base64'))
  const rotatedAt = Date.now()
  const send = (evidence: Evidence) => sendReport(service, reportBody(own.did, [evidence]))
  const retired = received(await send(before))
  const backdated = await evidenceBy(service, own, { createdAt: rotatedAt + 300_000 })
  assertRefused(await send(backdated), 400, 'VALIDATION_ERROR', /unknown-key/)
  const early = await evidenceBy(
    service,
    { did: own.did, key: next },
    { createdAt: rotatedAt - 300_000 },
  )
  assertRefused(await send(early), 400, 'VALIDATION_ERROR', /unknown-key/)
  const stateOf = async (id: string) => {
    const { reports } = await reportsOf(own.owner, own.did)
    return reports.find((each) => each.id === id)?.requests[0]?.key.state
  }
  assert.equal(await stateOf(retired.id), 'retired')
  const { status, text } = await own.owner.post(`/api/account/agents/${own.did}/keys/compromised`, {
    sequence: 1,
  })
  assert.equal(status, 200, text)
  const leaked = received(await send(again))
  assert.equal(await stateOf(leaked.id), 'compromised')
  assert.equal(await stateOf(retired.id), 'compromised')
  assert.notEqual(former, next)
})

test('a request of a delegated key counts, also after the delegation ended, and is shown as such', async () => {
  const own = await newAgent(service)
  await allowDelegation(service, own.owner.ownerId, own.did, 1)
  const certificate = await certificateOf(service, own.did)
  const { delegate, chain } = await delegateTo(own, certificate, clock.now)
  const byDelegate = { did: own.did, key: delegate }
  const headers = { 'serviceid-certificate': chain }
  const sent = await evidenceBy(service, byDelegate, { headers })
  await allowDelegation(service, own.owner.ownerId, own.did, 0)
  received(await sendReport(service, reportBody(own.did, [sent])))
  const { reports } = await reportsOf(own.owner, own.did)
  const request = reports[0]?.requests[0]
  assert.equal(request?.delegate, thumbprintOf(delegate.publicKey))
  assert.equal(request?.keyid, thumbprintOf(own.key.publicKey))
  const beyond = await evidenceBy(service, byDelegate, { headers, url: 'https://rival.example/' })
  const refused = await sendReport(service, reportBody(own.did, [beyond]))
  assertRefused(refused, 400, 'VALIDATION_ERROR', /delegation-limit/)
  const [body = '', signature = ''] = certificate.split(/\.(?=[^.]*$)/)
  const forged = `${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  const ofForged = await delegateTo(own, forged, clock.now)
  const unfounded = await evidenceBy(
    service,
    { did: own.did, key: ofForged.delegate },
    { headers: { 'serviceid-certificate': ofForged.chain } },
  )
  const answer = await sendReport(service, reportBody(own.did, [unfounded]))
  assertRefused(answer, 400, 'VALIDATION_ERROR', /delegation-invalid/)
})

test('suspended and revoked agents are reported too, unknown ones not', async () => {
  for (const status of ['suspended', 'revoked'] as const) {
    const own = await newAgent(service)
    await setStatus(service, own.did, status)
    received(await reportNew(service, own))
  }
  const stranger = { ...agent, did: `${agent.did.slice(0, -24)}${'2'.repeat(24)}` }
  assertRefused(await reportNew(service, stranger), 404, 'NOT_FOUND', /no agent/)
})
