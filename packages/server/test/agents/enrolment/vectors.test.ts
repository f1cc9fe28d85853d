import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { test } from 'node:test'
import type { EnrolmentRule, EnrolResponse, NewEnrolmentRule } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { enrol, enrolmentBody } from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { readCases, readVectorFile } from '../../../../../test/support/vector-files.ts'
import { newRule, RULES } from './with-rules.ts'

interface TokenCase {
  readonly rule: string
  readonly now?: number
  readonly token: string
  readonly agentId: string
}

type Rule = Omit<NewEnrolmentRule, 'keys' | 'name'> & { readonly id: string; readonly keys: string }

const FILE = 'enrolment.json'
const {
  service: origin,
  now,
  seedHex,
  publicKey,
  keySets,
  rules,
} = readVectorFile<{
  service: string
  now: number
  seedHex: string
  publicKey: string
  keySets: Readonly<Record<string, object>>
  rules: Readonly<Record<string, Rule>>
}>(FILE)

test('tokens of the vectors enrol, or are refused by the named check; rules are created, or refused', async (t) => {
  let at = now
  const service = await startTestService(t, { BASE_URL: origin }, () => at)
  const { db, addVerifiedOwner } = service.operator
  const owner = await signIn(service, await addVerifiedOwner(), now)
  for (const [name, { id, keys, ...rule }] of Object.entries(rules)) {
    const made = await newRule(owner, { name, ...rule, keys: { jwks: keySets[keys] } })
    // The tokens are signed for rules of these ids.
    await db.write((tx) =>
      tx.db.updateTable('enrolment_rules').set({ id }).where('id', '=', made.id).execute(),
    )
  }
  const der = Buffer.from(`302e020100300506032b657004220420${seedHex}`, 'hex')
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const send = (each: TokenCase) => {
    at = each.now ?? now
    const { id } = rules[each.rule] as Rule
    const key = { publicKey, privateKey } as Parameters<typeof enrolmentBody>[3]
    return enrol(service, enrolmentBody(service, id, each.token, key, at / 1000))
  }
  const did = new Map<string, string>()
  for (const each of readCases<TokenCase>(FILE, 'tokens', 'valid')) {
    const answer = await send(each)
    const label = `${each.rule} ${each.agentId}`
    const known = did.get(label)
    assert.equal(answer.status, known === undefined ? 201 : 200, `${each.name}: ${answer.text}`)
    const { svcDid, agentId } = jsonOf<EnrolResponse>(answer)
    assert.equal(agentId, each.agentId, each.name)
    assert.ok(known === undefined || known === svcDid, each.name)
    did.set(label, svcDid as string)
  }
  for (const each of readCases<TokenCase>(FILE, 'tokens', 'invalid')) {
    const answer = await send(each)
    const { why = '' } = each
    const status = why === 'form' ? 400 : why === 'expired' ? 410 : 403
    assert.equal(answer.status, status, `${each.name}: ${answer.text}`)
    if (status === 403) assertRefused(answer, 403, 'FORBIDDEN', new RegExp(`\\(${why}\\)`))
  }
  at = now
  await runPins(await signIn(service, await addVerifiedOwner(), now))
})

async function runPins(owner: SignedInOwner): Promise<void> {
  const rule = { name: 'a', keys: { jwks: keySets.one }, binding: 'token', agentId: 'a' }
  const create = ({ issuer, trustDomain, match }: PinCase) =>
    owner.post(RULES, { ...rule, issuer, trustDomain, match })
  for (const each of readCases<PinCase>(FILE, 'pins', 'valid')) {
    const answer = await create(each)
    assert.equal(answer.status, 201, `${each.name}: ${answer.text}`)
    const { id } = jsonOf<EnrolmentRule>(answer)
    assert.equal((await owner.send('DELETE', `${RULES}/${id}`)).status, 204)
  }
  for (const each of readCases<PinCase>(FILE, 'pins', 'invalid')) {
    const answer = await create(each)
    assert.equal(answer.status, 400, `${each.name}: ${answer.text}`)
  }
}

type PinCase = Pick<NewEnrolmentRule, 'issuer' | 'trustDomain' | 'match'>
