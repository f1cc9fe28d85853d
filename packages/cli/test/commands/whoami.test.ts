import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'

suite('whoami', () => {
  test('shows the certificate of the own key, whatever its status', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, owner)
    const { did, publicKey } = cli
    const { code, stdout, stderr } = await cli.run('whoami')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, new RegExp(`^You are ${did} \\(active\\)\n`))
    assert.match(stdout, /^ {2}Owner {8}verified by in-person$/m)
    assert.match(stdout, new RegExp(`^ {2}Certificate {2}${service.url}/agent/${did}$`, 'm'))
    const answer = await cli.json<{ certificate: object; verified: boolean }>('whoami')
    const lookup = await (await fetch(`${service.url}/api/v1/agent/${did}`)).json()
    const { keySequence, keyChangedAt } = jsonOf(await ask(service, `/api/agents/${did}`))
    const key = { publicKey, keySequence, keyChangedAt, recovery: null }
    assert.deepEqual(answer, { ...key, ...(lookup as object) })

    await changeStatus(service, did, 'revoke')
    const revoked = await cli.run('whoami')
    assert.equal(revoked.code, 0)
    assert.match(revoked.stdout, /\(revoked\)[\s\S]*Status {7}revoked \(permanently not valid\)/)
  })

  test('says that the key has no certificate, and what to do', async (t) => {
    const service = await startTestService(t)
    const cli = cliFor(t)
    const { publicKey } = await cli.json<{ publicKey: string }>('keygen')
    const people = await cli.run('whoami', '--url', service.url)
    assert.deepEqual([people.code, people.stdout], [3, ''])
    assert.ok(people.stderr.startsWith(`countersign: Your key ${publicKey} has no certificate`))
    assert.match(people.stderr, /countersign claim <token> \(req_\w+\)\n$/)
    const program = await cli.run('--url', service.url, 'whoami', '--json')
    assert.deepEqual([program.code, errorIn(program).code], [3, 'NOT_FOUND'])
    const keyless = await cliFor(t).run('whoami', '--json')
    assert.deepEqual([keyless.code, errorIn(keyless).code], [2, 'NO_KEY'])
  })
})
