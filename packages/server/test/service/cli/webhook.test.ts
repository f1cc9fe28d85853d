import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CreatedWebhook, Webhooks } from '@countersign/protocol'
import {
  claimAgent,
  countersignd,
  startTestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { payloadOf, startReceiver } from '../../webhooks/support/receiver.ts'

type WithSecret = CreatedWebhook & { readonly secret: string }

test('countersignd webhook adds an endpoint for all agents, lists, activates and removes it, and rotates its secret', async (t) => {
  const service = await startTestService(t)
  const { env } = service
  const receiver = await startReceiver(t)
  receiver.behaviour = 410
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await countersignd(env, 'webhook', ...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const added = await run('add', receiver.url, '--types', 'agent.claimed,agent.revoked', '--json')
  const { id, secret, publicKey, eventTypes } = JSON.parse(added) as WithSecret
  assert.match(secret, /^whsec_/)
  assert.deepEqual(eventTypes, ['agent.claimed', 'agent.revoked'])

  await claimAgent(service, await service.operator.addVerifiedOwner())
  const list = async () => (JSON.parse(await run('list', '--json')) as Webhooks).webhooks
  await untilTicked(service, async () => (await list())[0]?.state === 'disabled')
  const shown = await run('list')
  assert.match(shown, new RegExp(`^${id} +${receiver.url} +standard +disabled \\(gone\\) +1 `, 'm'))
  assert.ok(shown.includes(publicKey) && !shown.includes(secret))

  receiver.behaviour = 204
  assert.match(await run('activate', id), /^Activated wh_/)
  await untilTicked(service, async () => receiver.received.length === 2)
  assert.equal(payloadOf(receiver.received[1] as never).data.endpoint, id)
  await untilTicked(service, async () => (await list())[0]?.pending === 0)

  const rotated = JSON.parse(await run('rotate-secret', id, '--json')) as WithSecret
  assert.match(rotated.secret, /^whsec_/)
  assert.notEqual(rotated.secret, secret)
  assert.equal((await list())[0]?.previousSecretUntil, rotated.previousSecretUntil)
  assert.notEqual(rotated.previousSecretUntil, null)
  const last = await run('rotate-secret', id, '--overlap', '0')
  assert.match(last, /shown this once: whsec_.+\nThe previous secret signs no more\.$/m)
  assert.equal((await list())[0]?.previousSecretUntil, null)
  await run('remove', id)
  assert.deepEqual(await list(), [])

  const file = join(tempDir(t), 'authorization')
  writeFileSync(file, 'Bearer hunter2\n')
  const format = ['--format', 'set', '--audience', 'https://soc.example/ssf']
  const other = await run('add', receiver.url, ...format, '--authorization-file', file)
  assert.match(other, /^Added wh_[\w-]+ .+\nThe keys of \/\.well-known\/jwks\.json sign/)
  const [set] = await list()
  assert.deepEqual(
    [set?.format, set?.audience, set?.hasAuthorization],
    ['set', 'https://soc.example/ssf', true],
  )
  receiver.received.length = 0
  await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilTicked(service, async () => receiver.received.length === 1)
  assert.equal(receiver.received[0]?.headers.authorization, 'Bearer hunter2')
  assert.equal(receiver.received[0]?.headers['content-type'], 'application/secevent+jwt')

  const refusals: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['add', 'https://10.0.0.1/hook'], 2, /not the name of a host/],
    [['add', receiver.url, '--types', 'agent.updated'], 2, /agent\.updated is not one of/],
    [['add', receiver.url, '--audience', 'x'], 2, /Only the format set has an audience/],
    [['add', receiver.url, '--format', 'cef'], 2, /Allowed choices are standard, ocsf, set/],
    [['remove', id], 3, /no such webhook endpoint/],
    [['rotate-secret', id], 3, /no such webhook endpoint/],
    [['rotate-secret', id, '--overlap', '169'], 2, /0 to 168 hours/],
  ]
  for (const [args, code, message] of refusals) {
    const refused = await countersignd(env, 'webhook', ...args)
    assert.match(refused.stderr, message)
    assert.equal(refused.code, code)
  }
})
