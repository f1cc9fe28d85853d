import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, DelegatedAgent, newKey, Registry } from '@countersign/sdk'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { callersOf, ORIGIN, send, wordsOf } from './support/console.ts'

const OPEN = { requireProof: true, delegation: {} }
const REFUSED = 'Refused, 401'

test('the console says what happens to delegates, and judges chains by the service’s own lists', async (t) => {
  const service = await startTestService(t)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const owner = await service.operator.addVerifiedOwner()
  const agent = new Agent({ registry, signer: await newKey(), audiences: [ORIGIN] })
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  await allowDelegation(service, owner, did, 1)
  const signer = await newKey()
  const publicKey = Buffer.from(signer.publicKey).toString('base64')
  const { chain } = await agent.delegate({ publicKey, origins: [ORIGIN], paths: ['/orders'] })
  const worker = new DelegatedAgent({ chain, signer })
  const headersOf = async (path = '/orders', changed = chain) => {
    const { headers } = await worker.sign(`${ORIGIN}${path}`)
    headers.set('serviceid-certificate', changed)
    return [...headers].map((each) => each.join(': ')).join('\r\n')
  }
  const pasted = async (policy: object, headers: string, request = `GET ${ORIGIN}/orders`) => {
    const html = await unchanged(service, () => send(service, policy, { request, headers }))
    const { words, reasons, lines } = callersOf(html).pasted ?? assert.fail('no such row')
    return { words, reason: reasons[0], lines }
  }

  await t.test('no policy admits a delegate unless it says so', async () => {
    assert.equal(wordsOf(await send(service, { requireProof: true })).delegated, 'Refused, 403')
    assert.equal(wordsOf(await send(service, OPEN)).delegated, 'Allowed')
    const away = await send(service, { ...OPEN, unreachable: 'allow' }, { away: '1' })
    assert.equal(wordsOf(away).delegated, 'Refused, 503')
  })

  await t.test('a captured request with a chain', async () => {
    const admitted = await pasted(OPEN, await headersOf())
    assert.deepEqual(admitted.words, ['Allowed'])
    assert.ok(admitted.lines.some((line) => line.startsWith('X-ServiceID-Delegate: ')))
    const closed = await pasted({ requireProof: true }, await headersOf())
    assert.deepEqual([closed.words, closed.reason], [['Refused, 403'], 'delegation-refused'])
    const [certificate = '', hop = ''] = chain.split('~~')
    const forged = `${certificate.slice(0, -20)}${'A'.repeat(20)}~~${hop}`
    assert.deepEqual((await pasted(OPEN, await headersOf('/orders', forged))).words, [REFUSED])
  })

  await t.test('a chain that has ended', async () => {
    const headers = await headersOf()
    await setStatus(service, did, 'suspended')
    assert.equal((await pasted(OPEN, headers)).reason, 'status-refused')
    await setStatus(service, did, 'active')
    await agent.endDelegations()
    const ended = await pasted(OPEN, headers)
    assert.deepEqual([ended.words, ended.reason], [[REFUSED], 'certificate-replaced'])
  })
})
