import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mandate, RequestedApproval } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { askApproval, newApprovalWorld, progressOf } from '../../../../test/support/approvals.ts'
import { MANDATES, mandated, orderOf, TERMS } from '../../../../test/support/mandates.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { withCookie } from '../../../../test/support/signed-in.ts'

const BASE_URL = 'https://certificates.example'

test('two nodes share the total of a mandate, and its end', POSTGRES_ONLY, async (t) => {
  const here = await startTestService(t, { BASE_URL })
  const there = await startTestService(t, { ...here.env, PORT: String(await freePort()) })
  const world = await newApprovalWorld(here)
  const total = { pointer: '/total', amount: '31.00', days: 30 }
  const { id } = await mandated(world, { ...TERMS, total, perDay: 100 })
  const nodes = [here, there]
  const answers = await Promise.all(
    Array.from({ length: 25 }, (_, i) =>
      askApproval({ ...world, service: nodes[i % 2] ?? here }, orderOf('10.00', i + 1)),
    ),
  )
  const asked = answers.flatMap((each) =>
    each.status === 201 ? [jsonOf<RequestedApproval>(each)] : [],
  )
  const approved = asked.filter(({ state }) => state === 'approved')
  assert.deepEqual([approved.length, asked.length], [3, 6])
  for (const node of nodes) {
    const { token } = await progressOf(node, approved[0]?.id ?? '')
    assert.notEqual(token, undefined)
  }
  const elsewhere = withCookie(there, world.owner.ownerId, world.owner.cookie)
  const { used } = jsonOf<Mandate>(await elsewhere.get(`${MANDATES}/${id}`))
  assert.deepEqual(used, { lastDay: 3, amount: '30.00' })
  assert.equal((await elsewhere.send('DELETE', `${MANDATES}/${id}`)).status, 200)
  const after = await askApproval(world, orderOf('1.00', 99))
  // Three questions are pending.
  assert.equal(after.status, 429, after.text)
})
