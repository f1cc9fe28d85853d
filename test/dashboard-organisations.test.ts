import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPersonal } from '../packages/dashboard/src/api/personal-paths.ts'
import { actionText } from '../packages/dashboard/src/organisations/action-texts.ts'
import { endedTexts, isNothing } from '../packages/dashboard/src/pages/members/ended-texts.ts'
import { LEAST_ROLES } from '../packages/server/src/accounts/owners/roles.ts'
import { allOwnerOperations } from './support/owner-operations.ts'
import { startTestService } from './support/service.ts'

/** A provider sends the one, a browser that comes back from a provider the others: none is a request of the dashboard. */
const NOT_OF_THE_DASHBOARD = ['identityWebhook', 'identityCallback', 'signInCallback']

test('the dashboard names the organisation in exactly the requests that take it', async (t) => {
  const service = await startTestService(t)
  const operations = await allOwnerOperations(service)
  for (const { path, method, operation } of operations) {
    const { operationId } = operation
    if (NOT_OF_THE_DASHBOARD.includes(operationId)) continue
    const isPersons = LEAST_ROLES[operationId] === undefined
    assert.equal(isPersonal(path), isPersons, `${method} ${path}`)
  }
})

test('the dashboard has words for each action of a member', async (t) => {
  const service = await startTestService(t)
  const operations = await allOwnerOperations(service)
  for (const { method, operation } of operations) {
    const { operationId } = operation
    if (method === 'GET' || LEAST_ROLES[operationId] === undefined) continue
    assert.doesNotMatch(actionText(operationId), /^used the operation/, operationId)
  }
})

test('what ended with a membership is said in words, and what did not end is not', () => {
  const nothing = {
    apiKeysEnded: 0,
    tokensEnded: 0,
    recoveriesEnded: 0,
    transfersEnded: 0,
    responsibleFor: 0,
    toReview: { webhooks: [], grantIssuers: [], enrolmentRules: [] },
  }
  assert.deepEqual(endedTexts(nothing), [])
  assert.ok(isNothing(nothing))
  assert.ok(!isNothing({ ...nothing, toReview: { ...nothing.toReview, webhooks: ['wh_1'] } }))
  assert.deepEqual(endedTexts({ ...nothing, apiKeysEnded: 1, responsibleFor: 1200 }), [
    '1 API key was deleted.',
    '1,200 agents have no responsible person now.',
  ])
})
