import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { createOrganisation } from '../../../../../test/support/organisations.ts'
import { claimAgent, countersignd, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'

test('the operator verifies an organisation, and publishes the name in its register', async (t) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  const verify = (username: string, ...more: string[]) =>
    countersignd(service.env, 'owner', 'verify', username, '--provider', 'in-person', ...more)
  for (const [command, message] of [
    [verify('acme-admin', '--name', 'Ada Lovelace'), /acme-admin is no organisation/],
    [verify('acme', '--name', 'Example\u202eGmbH'), /cannot be published/],
    [verify('acme', '--name', 'Example GmbH', '--assurance', 'low'), /cannot be published/],
  ] as const) {
    const { code, stderr } = await command
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
  }
  const { code, stderr } = await verify('acme', '--name', 'Example GmbH')
  assert.equal(code, 0, stderr)
  const did = await claimAgent(service, acme.id)
  const card = async () => jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
  await untilTicked(service, async () => (await card()).ownerName?.verified !== null)
  const { ownerName, verification } = await card()
  assert.equal(ownerName?.verified?.name, 'Example GmbH')
  assert.equal(verification?.label, 'In person')
})
