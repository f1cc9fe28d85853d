import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { changeStatus, cliFor, errorIn } from '../support/cli.ts'

suite('resolve', () => {
  test('prints the DID document, and of a revoked agent the one without a key', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const did = await claimAgent(service, owner, key)
    const didWeb = `did:web:localhost%3A${service.env.PORT}:agent:${did}`
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })

    const people = await cli.run('resolve', did)
    assert.deepEqual([people.code, people.stderr], [0, ''])
    const document = JSON.parse(people.stdout)
    assert.equal(people.stdout, `${JSON.stringify(document, null, 2)}\n`)
    assert.equal(document.id, didWeb)
    assert.equal(document.verificationMethod[0].publicKeyBase64, key.publicKey)
    for (const reference of [did, didWeb, did.slice(-24)]) {
      assert.deepEqual(await cli.json('resolve', reference), document)
    }

    await changeStatus(service, did, 'revoke')
    const revoked = await cli.run('resolve', did)
    assert.equal(revoked.code, 4)
    assert.deepEqual(JSON.parse(revoked.stdout).verificationMethod, [])
    assert.equal(
      revoked.stderr,
      'countersign: This agent is revoked. Do not accept its signatures.\n',
    )
    const json = await cli.run('resolve', didWeb, '--json')
    assert.deepEqual([json.code, errorIn(json).code], [4, 'REVOKED'])
    assert.equal(JSON.parse(json.stdout).id, didWeb)
  })

  test('answers for a did:web of its own host only', async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const elsewhere = await cli.run('resolve', `did:web:id.example:agent:${did}`, '--json')
    assert.deepEqual([elsewhere.code, elsewhere.stdout], [2, ''])
    assert.match(errorIn(elsewhere).message, /authoritative for did:web:localhost%3A\d+:agent:svc/)
    for (const place of ['localhost%3A1', 'id.example:deep:agent']) {
      const other = await cli.run('resolve', `did:web:${place}:agent:${did}`, '--json')
      assert.match(errorIn(other).message, /authoritative for did:web:localhost/, place)
    }
    for (const text of [
      `did:web:${did}`,
      'did:key:z6Mk',
      'did:web:id.example',
      `did:web:id.example:agent:${did}0`,
    ]) {
      assert.equal((await cli.run('resolve', text)).code, 2, text)
    }
    assert.equal((await cli.run('resolve', `svc:agent:${'1'.repeat(24)}`)).code, 3)
  })
})
