import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedApiKey } from '@countersign/protocol'
import { jsonOf } from './support/answer.ts'
import { DocPage } from './support/doc-page.ts'
import { claimAgent, run, startTestService } from './support/service.ts'
import { signIn } from './support/signed-in.ts'
import { needs } from './support/tools.ts'

const PAGE = new DocPage('docs/delegation.md', import.meta.filename)
const ALLOW = PAGE.take('Delegation', 'sh')
const END = PAGE.take('End all delegations', 'sh')

test('curl allows an agent to delegate, and ends its delegations', needs('curl'), async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner.ownerId)
  const scopes = ['agents:write', 'agents:status']
  const created = await owner.post('/api/account/api-keys', { name: 'CI', scopes })
  const { secret } = jsonOf<CreatedApiKey>(created)
  const env = { SERVICE: service.url, DID: did, API_KEY: secret, PATH: process.env.PATH ?? '' }
  const shown = async (commands: string) => {
    const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', commands], env)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout) as Record<string, unknown>
  }
  assert.equal((await shown(ALLOW)).maxDepth, 1)
  const { endedAt } = await shown(END)
  assert.ok(Math.abs(Date.parse(endedAt as string) - Date.now()) < 60_000)
})

test('every block that the page assigns to this test was run', () => PAGE.assertAllTaken())
