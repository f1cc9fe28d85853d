import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertOcsf } from '../../../../test/support/ocsf-schema.ts'
import { isFinding, OCSF_MAPPINGS, type OcsfSubject, ocsfEvent } from '../../src/accounts/ocsf.ts'

const SERVICE = { baseUrl: 'https://id.example', serviceName: 'Example ID' }
const DID = 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj'
const ADA: OcsfSubject = { account: { uid: 'ada', isOrganisation: false } }
const ACME: OcsfSubject = { account: { uid: 'org_7Xk2mPqR9sTv', isOrganisation: true } }
const EVENT = { at: 1_795_463_000_123, uid: 'abc-7-1215.3' }

/** Everything that a payload may have. What no list of a type allows must not come out. */
const PAYLOAD = {
  method: 'passkey',
  provider: 'github',
  reason: 'abuse',
  name: 'Ada’s laptop',
  browser: 'Mozilla/5.0',
  displayName: 'Ada Lovelace',
  verifiedName: 'Ada Lovelace',
  handleOrDomain: '@ada',
  audience: null,
}

const TYPES = Object.keys(OCSF_MAPPINGS)

test('every type of event is valid in OCSF 1.8.0, pulled and delivered', () => {
  assert.ok(TYPES.length >= 54)
  for (const type of TYPES) {
    const subjects: OcsfSubject[] =
      isFinding(type) || !type.startsWith('owner.') ? [{ agent: DID }] : [ADA, ACME]
    for (const subject of subjects) {
      for (const payload of [PAYLOAD, {}, null]) {
        const event = ocsfEvent(SERVICE, { ...EVENT, type, subject, payload })
        assertOcsf(event)
        const text = JSON.stringify(event)
        assert.doesNotMatch(text, /laptop|Mozilla|Lovelace|@ada/, type)
        assert.ok(text.length < 1024, `${type}: ${text.length}`)
      }
    }
  }
  for (const type of ['webhook.test', 'agent.of_a_later_release']) {
    const subject = { webhook: 'wh_0123456789abcdef' }
    const event = ocsfEvent(SERVICE, { ...EVENT, type, subject, payload: null })
    assertOcsf(event)
    assert.deepEqual([event.class_uid, event.activity_id, event.activity_name], [3004, 99, type])
  }
})

test('the check of OCSF refuses what is not of the schema', () => {
  const payload = { reason: 'abuse' }
  const event = ocsfEvent(SERVICE, {
    ...EVENT,
    type: 'agent.suspended',
    subject: { agent: DID },
    payload,
  })
  for (const change of [
    { activity_id: 14, type_uid: 300414 },
    { severity_id: 9 },
    { time: 'now' },
    { entity: { type_id: 99 } },
    { entity: { uid: DID, type_id: 99 } },
    { entity: undefined },
    { metadata: { ...event.metadata, product: undefined } },
    { user: { uid: 'ada' } },
    { category_uid: 2 },
    { activity_id: 99, type_uid: 300499 },
  ]) {
    assert.throws(() => assertOcsf(JSON.parse(JSON.stringify({ ...event, ...change }))), {
      name: 'AssertionError',
    })
  }
})

test('class, activity and severity of each type', () => {
  const rows = TYPES.map((type) => {
    const subject = type.startsWith('owner.') ? ADA : { agent: DID }
    const { type_uid, severity_id } = ocsfEvent(SERVICE, { ...EVENT, type, subject, payload: {} })
    return [type, `${type_uid} ${severity_id}`] as const
  })
  const typesOf = (uid: string) => rows.filter(([, each]) => each === uid).map(([type]) => type)
  assert.deepEqual(typesOf('300401 1'), ['agent.claimed'])
  assert.deepEqual(typesOf('300412 3'), ['agent.suspended'])
  assert.deepEqual(typesOf('300413 2'), ['agent.reactivated', 'owner.reactivated'])
  assert.deepEqual(typesOf('300409 3'), ['agent.revoked'])
  assert.deepEqual(typesOf('300412 4'), ['owner.suspended'])
  assert.deepEqual(typesOf('300404 3'), ['owner.deleted'])
  assert.deepEqual(typesOf('200401 4'), ['agent.key_compromised'])
  assert.deepEqual(typesOf('200401 3'), ['owner.report_received'])
  assert.deepEqual(typesOf('300403 4'), ['agent.key_contested', 'agent.renounced'])
  assert.deepEqual(typesOf('300403 3'), [
    'agent.key_recovery_started',
    'agent.owner_changed',
    'agent.released',
    'owner.sign_in_method_added',
    'owner.sign_in_method_removed',
    'owner.sso_connected',
    'owner.domain_set',
  ])
  assert.deepEqual(typesOf('300201 1'), [
    'owner.signed_up',
    'owner.signed_in',
    'owner.sign_in_confirmed',
  ])
  assert.deepEqual(typesOf('300202 1'), ['owner.sessions_ended'])
  assert.deepEqual(typesOf('300403 2'), [
    'agent.key_rotated',
    'agent.key_recovered',
    'agent.key_recovery_redeemed',
    'agent.key_recovery_vetoed',
    'agent.key_recovery_cancelled',
    'owner.api_key_created',
    'owner.api_key_revoked',
    'owner.approvals_turned_on',
    'owner.approvals_turned_off',
    'owner.mandate_created',
    'owner.mandate_ended',
    'owner.scim_token_created',
    'owner.scim_token_ended',
  ])
})
