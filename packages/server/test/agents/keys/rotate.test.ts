import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { rotateTo, rotationBody, type Signed } from '../../../../../test/support/key-operations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { claimKey, eventTypesOf } from '../manage/keys.ts'
import { newOwner } from '../manage/with-agent.ts'
import { AGENTS, assertEnded, assertProves, historyOf, keysOf, REPLACED } from './with-keys.ts'

const ends: (() => unknown)[] = []
let service: TestService

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
})

after(async () => {
  for (const end of ends) await end()
})

suite('rotation', () => {
  test('replaces the key at once: lookup, verify, DID document and directory have the new one', async () => {
    const owner = await newOwner(service)
    const [old, next] = [newKey(), newKey()]
    const did = await claimAgent(service, owner.ownerId, old)
    const before = jsonOf(await ask(service, `/api/agents/${did}`))

    const answer = await rotateTo(service, did, { old, next, sequence: 2 })

    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const { keyChangedAt } = jsonOf(answer)
    assert.deepEqual(jsonOf(answer), { svcDid: did, keySequence: 2, keyChangedAt })
    await assertProves(service, next, did)
    await assertEnded(service, old, REPLACED)
    const shown = jsonOf(await ask(service, `/api/agents/${did}`))
    assert.deepEqual([shown.keySequence, shown.keyChangedAt], [2, keyChangedAt])
    assert.equal(before.claimedAt, shown.claimedAt)
    const tail = did.slice(-24)
    const document = jsonOf(await ask(service, `/agent/svc/agent/${tail}/did.json`))
    assert.match(JSON.stringify(document.authentication), /#key-2".*#key-2-jwk"/)
    const headers = { accept: 'application/did+json' }
    const contract = await ask(service, `/api/agents/${did}`, { headers })
    assert.match(contract.text, /#key-1"/)
    assert.ok(contract.text.includes(next.publicKey))
    assert.deepEqual(await historyOf(service, did), [
      [1, 'retired', 'claim'],
      [2, 'current', 'rotation'],
    ])
    const { keys, recovery } = await keysOf(service, did)
    assert.equal(keys[0]?.keyThumbprint, keyThumbprint(Buffer.from(old.publicKey, 'base64')))
    assert.deepEqual(
      [keys[0]?.until, keys[1]?.from, keys[1]?.until],
      [keyChangedAt, keyChangedAt, null],
    )
    assert.equal(recovery, null)
    assert.deepEqual(await eventTypesOf(service, did), ['agent.key_rotated'])

    const repeated = await unchanged(service, () =>
      rotateTo(service, did, { old, next, sequence: 2 }),
    )
    assert.deepEqual([repeated.status, jsonOf(repeated)], [200, jsonOf(answer)])
    assert.equal(
      (await rotateTo(service, tail, { old: next, next: newKey(), sequence: 3 })).status,
      401,
    )
    assert.equal(
      (await rotateTo(service, did, { old: next, next: newKey(), sequence: 3 })).status,
      200,
    )
  })

  test('needs signatures of both keys over exactly this rotation', async () => {
    const { ownerId } = await newOwner(service)
    const [old, next, other] = [newKey(), newKey(), newKey()]
    const did = await claimAgent(service, ownerId, old)
    const sibling = await claimAgent(service, ownerId, old, 'sibling')
    const keys = { old, next, sequence: 2 }
    const body = (changed: Partial<Signed> = {}) => rotationBody(service, did, keys, changed)
    const good = body()
    const { issuedAt } = good
    const wrong: [object, 400 | 401 | 409][] = [
      [body({ first: 0x20 }), 401],
      [body({ operation: 'recover' }), 401],
      [body({ version: 'v2' }), 401],
      [body({ service: 'https://elsewhere.example' }), 401],
      [body({ did: sibling }), 401],
      [body({ old: other }), 401],
      [body({ next: other }), 401],
      [body({ token: 'more' }), 401],
      [{ ...good, oldSignature: good.newSignature }, 401],
      [{ ...good, newSignature: good.oldSignature }, 401],
      [{ ...good, newPublicKey: other.publicKey }, 401],
      [{ ...good, issuedAt: issuedAt - 1 }, 401],
      [body({ sequence: 3 }), 409],
      [body({ sequence: 1 }), 409],
      [body({ issuedAt: issuedAt - 400 }), 400],
      [body({ issuedAt: issuedAt + 400 }), 400],
      [{ ...good, sequence: '2' }, 400],
      [{ ...good, newSignature: 'AA==' }, 400],
      [{ ...good, newPublicKey: Buffer.alloc(32).toString('base64') }, 400],
      [{ ...good, more: true }, 400],
    ]
    const codes = { 400: 'VALIDATION_ERROR', 401: 'INVALID_SIGNATURE', 409: 'CONFLICT' } as const
    for (const [bad, status] of wrong) {
      const send = () => post(service, `/api/v1/agent/${did}/keys`, bad)
      assertRefused(await unchanged(service, send), status, codes[status])
    }
    const unknown = `svc:agent:${'1'.repeat(24)}`
    assertRefused(await post(service, `/api/v1/agent/${unknown}/keys`, good), 404, 'NOT_FOUND')
    await assertProves(service, old, did)
  })

  test('is for active agents, and follows the rules of a claim', async () => {
    const [owner, thief] = [await newOwner(service), await newOwner(service)]
    const [old, taken, burned, foreign] = [newKey(), newKey(), newKey(), newKey()]
    const did = await claimAgent(service, owner.ownerId, old, 'main')
    const rotate = (next = newKey(), sequence = 2) =>
      unchanged(service, () => rotateTo(service, did, { old, next, sequence }))
    const burnedDid = await claimAgent(service, owner.ownerId, burned, 'burned')
    await owner.post(`${AGENTS}/${burnedDid}/revoke`, { reason: 'key_compromised' })
    assertRefused(await rotate(burned), 409, 'KEY_ALREADY_CLAIMED', /compromised/)
    await claimKey(service, thief.ownerId, foreign, 'x')
    assertRefused(await rotate(foreign), 409, 'KEY_ALREADY_CLAIMED', /Another owner/)
    assertRefused(await rotate(old), 409, 'KEY_ALREADY_CLAIMED', /under this agentId/)
    await claimKey(service, owner.ownerId, taken, 'other label')
    await owner.post(`${AGENTS}/${did}/suspend`)
    assertRefused(await rotate(), 409, 'AGENT_NOT_ACTIVE', /suspended/)
    await owner.post(`${AGENTS}/${did}/reactivate`)
    assert.equal((await rotateTo(service, did, { old, next: taken, sequence: 2 })).status, 200)
    const back = await rotateTo(service, did, { old: taken, next: old, sequence: 3 })
    assertRefused(back, 409, 'KEY_ALREADY_CLAIMED', /contests/)
    await owner.post(`${AGENTS}/${did}/revoke`)
    const late = await rotateTo(service, did, { old: taken, next: newKey(), sequence: 3 })
    assertRefused(late, 409, 'AGENT_NOT_ACTIVE', /revoked/)
  })

  test('keeps the old key from a thief who claims it elsewhere, and its pair for 72 hours', async () => {
    const [owner, thief] = [await newOwner(service), await newOwner(service)]
    const [old, next] = [newKey(), newKey()]
    const did = await claimAgent(service, owner.ownerId, old, 'main')
    await rotateTo(service, did, { old, next, sequence: 2 })
    const stolen = await claimKey(service, thief.ownerId, old, 'mine now')
    assertRefused(stolen, 409, 'KEY_ALREADY_CLAIMED', /reserved/)
    const pair = await claimKey(service, owner.ownerId, old, 'main')
    assertRefused(pair, 409, 'KEY_ALREADY_CLAIMED', /72 hours/)
    assert.equal((await claimKey(service, owner.ownerId, old, 'another')).status, 200)
    const thiefs = await claimAgent(service, thief.ownerId)
    assert.equal((await historyOf(service, thiefs)).length, 1)
  })
})
