import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateOf } from '../../../../test/support/agent-certificates.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { fedStatuses, referenceIn } from '../../../../test/support/status-feed.ts'
import { certifiedCli, cliFor, errorIn } from '../support/cli.ts'

test('end-delegations ends every chain under the certificate, or says that there is nothing to end', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const cli = await certifiedCli(t, service, owner.ownerId)
  const other = await certifiedCli(t, service, owner.ownerId)

  const nothing = await cli.run('end-delegations')
  assert.deepEqual([nothing.code, nothing.stderr], [0, ''])
  assert.match(nothing.stdout, /^You may not delegate: nothing to end\n/)

  const path = `/api/account/agents/${cli.did}/delegation`
  const allowed = await owner.send('PUT', path, { maxDepth: 1 })
  assert.equal(allowed.status, 200, allowed.text)
  const entry = referenceIn(await certificateOf(service, cli.did))
  const { code, stdout, stderr } = await cli.run('end-delegations', cli.did)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^All delegations have ended\n/)
  assert.match(stdout, new RegExp(`^ {2}DID +${cli.did}$`, 'm'))
  assert.match(stdout, /^ {2}Ended at +\d{4}-/m)
  assert.deepEqual(await fedStatuses(service, entry), [1])
  const again = await cli.json('end-delegations')
  assert.equal(again.svcDid, cli.did)
  assert.equal(typeof again.endedAt, 'string')

  for (const [args, expected, error] of [
    [[cli.did.slice(-24)], 2, 'USAGE'],
    [[other.did], 2, 'UNUSABLE_KEY'],
    [[`svc:agent:${'1'.repeat(24)}`], 3, 'NOT_FOUND'],
  ] as const) {
    const result = await cli.run('end-delegations', ...args, '--json')
    assert.deepEqual([result.code, errorIn(result).code], [expected, error], args.join())
  }
  const stranger = cliFor(t, { COUNTERSIGN_URL: service.url })
  assert.equal((await stranger.run('end-delegations')).code, 2)
})
