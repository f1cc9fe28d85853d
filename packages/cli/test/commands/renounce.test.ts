import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, cliFor, errorIn } from '../support/cli.ts'

suite('renounce', () => {
  test('suspends the DID that is named, and no other one of the key, and says when it is revoked', async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, ownerId)
    const token = await service.operator.issueToken(ownerId)
    const { did: second } = await cli.json<{ did: string }>('claim', token, '--agent-id', 'second')

    const { code, stdout, stderr } = await cli.run('renounce', cli.did)

    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, new RegExp(`^${cli.did} is suspended\n`))
    assert.match(stdout, /^ {2}Reason +renounced_by_agent$/m)
    assert.match(stdout, /^ {2}Revoked on +\d+ \w+ \d{4} at /m)
    assert.equal((await cli.json<{ verified: boolean }>('lookup', second)).verified, true)
    const renounced = await cli.json('renounce', second)
    assert.deepEqual(
      [renounced.svcDid, renounced.status, renounced.statusReason],
      [second, 'suspended', 'renounced_by_agent'],
    )
  })

  test('speaks to a deployment of another short name', async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme' })
    const cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
    assert.equal((await cli.json('renounce', cli.did)).acmeDid, cli.did)
  })

  test("needs the whole DID and the agent's own key", async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, ownerId)
    const other = await certifiedCli(t, service, ownerId)
    for (const [args, code, error] of [
      [[], 2, 'USAGE'],
      [[cli.did.slice(-24)], 2, 'USAGE'],
      [[cli.publicKey], 2, 'USAGE'],
      [[other.did], 2, 'UNUSABLE_KEY'],
      [[`svc:agent:${'1'.repeat(24)}`], 3, 'NOT_FOUND'],
    ] as const) {
      const result = await cli.run('renounce', ...args, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [code, error], args.join())
    }
    const stranger = cliFor(t, { COUNTERSIGN_URL: service.url })
    assert.equal((await stranger.run('renounce', cli.did)).code, 2)
    for (const { did } of [cli, other]) {
      assert.equal((await cli.json<{ verified: boolean }>('lookup', did)).verified, true)
    }
  })
})

suite('report-key', () => {
  test('burns the key, also that of a DID that is not the default, and says the state of each', async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, ownerId)
    const other = await certifiedCli(t, service, ownerId)

    const { code, stdout, stderr } = await cli.run('report-key', cli.did)

    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Your key is reported as compromised\n/)
    assert.match(stdout, /^ {2}Key 1 +compromised$/m)
    const { certificate } = await cli.json<{ certificate: { status: string } }>('lookup', cli.did)
    assert.equal(certificate.status, 'suspended')
    for (const [args, expected, error] of [
      [[cli.did.slice(-24)], 2, 'USAGE'],
      [[other.did], 2, 'UNUSABLE_KEY'],
      [[`svc:agent:${'1'.repeat(24)}`], 3, 'NOT_FOUND'],
    ] as const) {
      const result = await cli.run('report-key', ...args, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [expected, error], args.join())
    }
    assert.equal((await cli.json<{ verified: boolean }>('lookup', other.did)).verified, true)
  })
})
