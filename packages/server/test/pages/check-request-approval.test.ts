import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Agent, newKey, Registry } from '@countersign/sdk'
import {
  type ApprovalChanges,
  type ApprovalSigner,
  approvalToken,
  BODY,
  JSON_TYPE,
  serviceSigner,
} from '../../../../test/support/approval-token.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { check, outcomesOf, rawRequest, stopOf } from './support/check-request.ts'
import { callersOf, ORIGIN, send, wordsOf } from './support/console.ts'

const SHOP = 'https://shop.example'
const cleanup = fileCleanup()
let service: TestService
let signer: ApprovalSigner
let agent: Agent
let did: string

before(async () => {
  service = await startTestService(cleanup)
  signer = await serviceSigner(service)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  agent = new Agent({ registry, signer: await newKey(), audiences: [...new Set([SHOP, ORIGIN])] })
  const owner = await service.operator.addVerifiedOwner()
  did = (await agent.claim(await service.operator.issueToken(owner))).did
})

/** A request as it is pasted. */
async function pasted(token: string | null, body = BODY): Promise<string> {
  const headers = { 'content-type': JSON_TYPE, ...(token && { 'ServiceID-Approval': token }) }
  const request = await agent.sign(`${SHOP}/orders`, { method: 'POST', headers, body })
  const fields = [['Host', 'shop.example'], ...request.headers] as [string, string][]
  return rawRequest(fields, { method: 'POST', target: '/orders', body })
}

const approve = (changes?: ApprovalChanges) => approvalToken(signer, did, changes)

test('the check "Approval" says whether the owner has approved exactly this, and uses nothing up', async () => {
  const token = await approve()
  for (let n = 0; n < 2; n++) {
    const outcomes = outcomesOf(await check(service, await pasted(token)))
    assert.deepEqual([outcomes.approval, outcomes.body], ['passed', 'passed'])
  }
  assert.equal(outcomesOf(await check(service, await pasted(null))).approval, 'passed')
  for (const changed of [
    await pasted(token, BODY.replace('129', '999')),
    await pasted(await approve({ issuedIn: -700 })),
    await pasted('none'),
  ]) {
    assert.equal(stopOf(await check(service, changed)), 'approval failed')
  }
})

test('the console decides by the rule field, and uses nothing up', async () => {
  const policy = { requireProof: true, approval: {} }
  assert.equal(wordsOf(await send(service, policy)).signed, 'Refused, 403')
  const url = `${ORIGIN}/orders`
  const token = await approve({ method: 'GET', body: null, aud: ORIGIN, url })
  for (const [expected, approval] of [
    ['Allowed', token],
    ['Allowed', token],
    ['Refused, 403', null],
    ['Refused, 403', await approve({ method: 'DELETE', body: null, aud: ORIGIN, url })],
  ] as const) {
    const signed = await agent.sign(url, {
      headers: approval === null ? {} : { 'ServiceID-Approval': approval },
    })
    const headers = [...signed.headers].map((each) => each.join(': ')).join('\r\n')
    const html = await unchanged(service, () =>
      send(service, policy, { request: `GET ${url}`, headers }),
    )
    assert.deepEqual(callersOf(html).pasted?.words, [expected])
  }
})
