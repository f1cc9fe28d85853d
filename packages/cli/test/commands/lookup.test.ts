import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { changeStatus, cliFor, errorIn } from '../support/cli.ts'

suite('lookup', () => {
  test('finds an agent by DID, tail and key, and says its status', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const did = await claimAgent(service, owner, key)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const lookup = await (await fetch(`${service.url}/api/v1/agent/${did}`)).json()
    for (const reference of [did, did.slice(-24), key.publicKey]) {
      assert.deepEqual(await cli.json('lookup', reference), lookup)
    }
    const people = await cli.run('lookup', did)
    assert.match(people.stdout, new RegExp(`^${did} is active\n`))
    assert.match(people.stdout, /^ {2}Owner {8}verified by in-person$/m)

    await changeStatus(service, did, 'suspend')
    const suspended = await cli.run('lookup', did)
    assert.equal(suspended.code, 0)
    assert.match(
      suspended.stdout,
      / is suspended\n[\s\S]*Status {7}suspended \(temporarily not valid\)/,
    )
  })

  test('percent-encodes a key with every letter that a path would mistake', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    let key = newKey()
    while (!/\/.*\+|\+.*\//.test(key.publicKey)) key = newKey()
    const did = await claimAgent(service, owner, key)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const found = await cli.json<{ certificate: { id: string } }>('lookup', key.publicKey)
    assert.equal(found.certificate.id, did)
  })

  test('exits with 3 where there is no such agent, with 2 where none can be', async (t) => {
    const service = await startTestService(t)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    for (const reference of [`svc:agent:${'1'.repeat(24)}`, newKey().publicKey]) {
      const result = await cli.run('lookup', reference, '--json')
      assert.deepEqual([result.code, result.stdout, errorIn(result).code], [3, '', 'NOT_FOUND'])
      assert.match(errorIn(result).requestId ?? '', /^req_/)
    }
    for (const reference of ['ada', '']) {
      const result = await cli.run('lookup', reference, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [2, 'USAGE'], reference)
    }
  })
})
