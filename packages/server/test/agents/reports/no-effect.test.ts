import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { digestOf } from '../../../../../test/support/database-digest.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { reportNew } from '../../../../../test/support/reports.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { newAgent, received } from './with-reports.ts'

/** What everybody sees of an agent, and what a receiver of its events would. */
async function publicBytes(service: TestService, did: string): Promise<Record<string, string>> {
  const paths = [
    ...[`/api/v1/agent/${did}`, `/api/agents/${did}`, `/api/agents/${did}/card`],
    ...[
      `/api/agents/${did}/grade`,
      `/api/v1/agent/${did}/card`,
      `/api/v1/agent/${did}/certificate`,
    ],
    ...[`/agent/${did}`, `/log/agent/${did}`, '/log/checkpoint'],
  ]
  const bytes: Record<string, string> = {}
  for (const path of paths) {
    const { status, text } = await ask(service, path)
    assert.equal(status, 200, `${path}: ${text}`)
    bytes[path] = withoutTimes(text)
  }
  return bytes
}

/** A certificate is signed anew for each request. Its claims are compared without the times. */
function withoutTimes(text: string): string {
  const [, claims] = text.split('.')
  if (!text.startsWith('eyJ') || claims === undefined) return text
  const { iat, exp, nbf, ...rest } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  return JSON.stringify(rest)
}

test('a report changes nothing that others see, and no row but those of the report and of its owner', async (t) => {
  const service = await startTestService(t)
  const agent = await newAgent(service)
  await untilLogged(service, 1)
  const before = await publicBytes(service, agent.did)
  const rows = await digestOf(service)
  for (const host of ['a', 'b', 'c', 'd']) {
    received(await reportNew(service, agent, { url: `https://${host}.example/` }))
  }
  assert.deepEqual(await publicBytes(service, agent.did), before)
  const after = await digestOf(service)
  // Webhooks, the feed and the log follow `events`, `feed_changes`, `status_entries` and `log_queue`.
  const changed = Object.keys(after).filter((table) => after[table] !== rows[table])
  assert.deepEqual(changed.toSorted(), [
    'account_activity',
    'notifications',
    'report_evidence',
    'reports',
  ])
  const { events } = jsonOf<{ events: { type: string }[] }>(
    await agent.owner.get(`/api/account/agents/${agent.did}/history`),
  )
  assert.deepEqual(
    events.map(({ type }) => type),
    ['agent.claimed'],
  )
})
