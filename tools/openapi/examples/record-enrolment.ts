import { sign } from 'node:crypto'
import type { EnrolmentRule, EnrolResponse } from '@countersign/protocol'
import { enrolmentEndMessage, enrolmentMessage } from '@countersign/protocol'
import { examplePlatformKeys, examplePlatformToken, ISSUER } from './example-platform.ts'
import { EXAMPLE_URL, fixedKey, passTime } from './example-service.ts'
import { signInAgain } from './record-accounts.ts'
import { bytesOf, EXAMPLE_SERVICE, type World } from './world.ts'

const RULES = '/api/account/enrolment/rules'
const SUBJECT = 'system:serviceaccount:crawl:crawler'

/** Ada lets pods of her cluster enrol; one does, renews, and ends. */
export async function recordEnrolment(world: World): Promise<void> {
  const { ada, anyone } = world
  await signInAgain(world)
  const rule = await ada.record<EnrolmentRule>('createEnrolmentRule', 'POST', RULES, {
    body: {
      name: 'crawler pods',
      issuer: ISSUER,
      keys: { jwks: examplePlatformKeys() },
      match: { '/sub': SUBJECT },
      binding: 'token',
      agentId: 'crawler',
    },
    status: 201,
  })
  const at = `${RULES}/${rule.id}`
  const token = examplePlatformToken(rule.audience, SUBJECT, passTime(0))
  await ada.record('testEnrolmentRule', 'POST', `${at}/test`, { body: { token } })
  const key = fixedKey('crawler')
  const publicKey = bytesOf(key)
  const { naming } = EXAMPLE_SERVICE.settings
  const body = () => {
    const issuedAt = passTime(0)
    const signed = { service: EXAMPLE_URL, rule: rule.id, token, publicKey, issuedAt }
    const signature = sign(null, enrolmentMessage(naming, signed), key.privateKey)
    return {
      rule: rule.id,
      token,
      publicKey: key.publicKey,
      issuedAt,
      signature: signature.toString('base64'),
    }
  }
  const enrolled = { body: body(), status: 201 }
  const { svcDid } = await anyone.record<EnrolResponse>('enrol', 'POST', '/api/v1/enrol', enrolled)
  const did = svcDid as string
  await anyone.record('enrol', 'POST', '/api/v1/enrol', { body: body() })
  await ada.record('listEnrolmentRules', 'GET', RULES)
  await ada.record('enrolmentRule', 'GET', at)
  await ada.record('changeEnrolmentRule', 'PATCH', at, { body: { maxLive: 200 } })
  const issuedAt = passTime(0)
  const ending = enrolmentEndMessage(naming, { service: EXAMPLE_URL, did, publicKey, issuedAt })
  const signature = sign(null, ending, key.privateKey).toString('base64')
  await anyone.record('endEnrolment', 'POST', `/api/v1/agent/${did}/enrolment/end`, {
    body: { issuedAt, signature },
  })
  await ada.record('pauseEnrolmentRule', 'POST', `${at}/pause`, { body: {} })
  await ada.record('resumeEnrolmentRule', 'POST', `${at}/resume`, { body: {} })
  await ada.record('endEnrolmentRule', 'POST', `${at}/end`, { body: {}, status: 202 })
  await ada.record('deleteEnrolmentRule', 'DELETE', at, { status: 204 })
}
