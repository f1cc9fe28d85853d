import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { cliFor, errorIn } from '../support/cli.ts'
import { bodyOf, startImpostor, startParrot } from '../support/impostor.ts'

const TOKEN = `svc-verify-${'0f'.repeat(16)}`
const HTML = { 'content-type': 'text/html' }

suite('claim', () => {
  test('gives the key a DID, under one label after the other', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const { publicKey } = await cli.json('keygen')

    const first = await cli.run('claim', await service.operator.issueToken(owner))
    assert.deepEqual([first.code, first.stderr], [0, ''])
    const [, did = ''] = /^This agent is (\S+)\n/.exec(first.stdout) ?? []
    assert.match(did, /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$/)
    assert.match(first.stdout, /^ {2}Agent id +main$/m)
    assert.match(first.stdout, /countersign sign --help/)

    const token = await service.operator.issueToken(owner)
    const second = await cli.json('claim', token, '--agent-id', 'Zoë 2')
    assert.deepEqual(second, {
      success: true,
      message: second.message,
      svcDid: second.did,
      did: second.did,
      agentId: 'Zoë 2',
      publicKey,
      keyFile: cli.keyFile,
      certificateUrl: `${service.url}/agent/${second.did}`,
    })
    assert.notEqual(second.did, did)

    const used = await cli.json('claim', token)
    assert.deepEqual(
      [used.did, used.message],
      [did, 'The key has this certificate already. Nothing was changed.'],
    )
    const again = await cli.run('claim', token, '--agent-id', 'third', '--json')
    assert.equal(again.code, 4)
    assert.equal(errorIn(again).code, 'TOKEN_EXPIRED')
    assert.match(errorIn(again).requestId ?? '', /^req_/)
    const another = await service.operator.addVerifiedOwner()
    const theirs = await cli.run('claim', await service.operator.issueToken(another), '--json')
    assert.deepEqual([theirs.code, errorIn(theirs).code], [4, 'KEY_ALREADY_CLAIMED'])
    const unknown = await cli.run('claim', TOKEN, '--agent-id', 'third')
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /^countersign: This claim token was never issued\. \(req_\w+\)\n$/)
  })

  test('creates the key first if it is told to, and never replaces one', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const token = await service.operator.issueToken(owner)
    const refused = await cli.run('claim', token, '--json')
    assert.equal(errorIn(refused).code, 'NO_KEY')

    const { code, stdout } = await cli.run('claim', token, '--create-key')
    assert.equal(code, 0)
    assert.match(stdout, /^Keep the key file secret/m)
    const rows = [...stdout.matchAll(/^ {2}(DID|Public key|Key file|Certificate) +(\S+)$/gm)]
    const [did, publicKey, keyFile, certificateUrl] = rows.map(([, , value]) => value)
    assert.equal(keyFile, cli.keyFile)
    assert.equal((await fetch(certificateUrl as string)).url, `${service.url}/agent/${did}`)
    const again = ['claim', await service.operator.issueToken(owner), '--create-key']
    const second = await cli.json(...(again as [string]), '--agent-id', 'second')

    assert.equal(second.publicKey, publicKey)
    assert.notEqual(second.did, did)
  })

  test('works with a deployment of another short name', async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
    const owner = await service.operator.addVerifiedOwner()
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    await cli.run('keygen')
    const claimed = await cli.json('claim', await service.operator.issueToken(owner))
    const did = claimed.did as string
    assert.match(did, /^acme:agent:/)
    assert.equal(claimed.acmeDid, did)

    const tail = did.slice(-24)
    for (const reference of [did, tail]) {
      assert.equal((await cli.run('lookup', reference)).code, 0)
    }
    assert.match((await cli.run('whoami')).stdout, new RegExp(`^You are ${did} \\(active\\)\n`))
    assert.equal((await cli.json('card')).acmeDid, did)
    const { signature } = await cli.json('sign', '--unbound', 'hello')
    const proof = ['--challenge', 'hello', '--signature', signature as string]
    for (const reference of [did, tail]) {
      const answer = await cli.json<{ agent: object }>('verify', reference, ...proof)
      assert.deepEqual(answer.agent, { ...answer.agent, acmeDid: did })
    }
    assert.match((await cli.json<{ id: string }>('resolve', did)).id, new RegExp(`:agent:${did}$`))
    // Of another deployment, this service knows nothing.
    assert.equal((await cli.run('lookup', `svc:agent:${tail}`)).code, 2)
    // And its claims are not signed as challenges either.
    const token = await service.operator.issueToken(owner)
    assert.equal((await cli.run('sign', '--unbound', `${token}|main`)).code, 4)
  })

  test('says so where another owner holds the key', async (t) => {
    const service = await startTestService(t)
    const [one, other] = [
      await service.operator.addVerifiedOwner(),
      await service.operator.addVerifiedOwner(),
    ]
    const key = newKey()
    await claimAgent(service, one, key)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const pem = `${cli.home}/key.pem`
    writeFileSync(pem, key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    const token = await service.operator.issueToken(other)
    const refused = await cli.run('claim', token, '--key', pem)
    assert.equal(refused.code, 4)
    assert.match(refused.stderr, /^countersign: Another owner has a certificate of this key/)
  })

  test('refuses what is no token or label, without repeating it, before it reads a key', async (t) => {
    const cli = cliFor(t)
    for (const token of [TOKEN.slice(0, -1), `${TOKEN}|main`]) {
      const refused = await cli.run('claim', token, '--json')
      assert.deepEqual([refused.code, errorIn(refused).code], [2, 'USAGE'], token)
      assert.ok(!refused.stderr.includes('0f0f'))
    }
    for (const label of ['a\nb', 'x'.repeat(129)]) {
      const refused = await cli.run('claim', TOKEN, '--agent-id', label, '--json')
      assert.deepEqual([refused.code, errorIn(refused).code], [2, 'USAGE'], label)
    }
  })

  test('signs exactly the token, a bar and the label', async (t) => {
    let sent = ''
    const url = await startImpostor(t, async (request, response) => {
      sent = await bodyOf(request)
      response.writeHead(500).end()
    })
    const cli = cliFor(t, { COUNTERSIGN_URL: url })
    await cli.run('keygen')
    await cli.run('claim', TOKEN, '--agent-id', 'Zoe\u0308 ')
    const { signature, ...rest } = JSON.parse(sent)
    const { publicKey } = await cli.json<{ publicKey: string }>('sign', '--unbound', 'x')
    assert.deepEqual(rest, { claimToken: TOKEN, agentId: 'Zoe\u0308 ', publicKey })
    const x = Buffer.from(publicKey, 'base64').toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const message = Buffer.from(`${TOKEN}|Zoe\u0308 `)
    assert.ok(verify(null, message, key, Buffer.from(signature, 'base64')))
  })

  test('tells a claim whose outcome is unknown from one that never left', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const claimAt = (url: string) => cli.run('claim', TOKEN, '--url', url, '--json')
    const envelope = {
      code: 'INTERNAL_ERROR',
      message: 'Something went wrong.',
      requestId: 'req_1',
    }
    const json = { 'content-type': 'application/json' }
    const inDoubt = [
      await startImpostor(t, (request) => request.socket.destroy()),
      await startParrot(t, 502, HTML, '<h1>Bad Gateway</h1>'),
      await startParrot(t, 200, HTML, '<h1>Welcome</h1>'),
      await startParrot(t, 200, json, '{"success":true}'),
      await startParrot(t, 500, json, JSON.stringify({ error: envelope })),
    ]
    for (const url of inDoubt) {
      const result = await claimAt(url)
      assert.equal(result.code, 5)
      assert.equal(errorIn(result).code, 'OUTCOME_UNKNOWN')
      assert.match(errorIn(result).message, /unknown\. Run countersign whoami/)
    }
    const failed = await claimAt(inDoubt.at(-1) as string)
    assert.equal(errorIn(failed).requestId, 'req_1')
    const neverLeft = await claimAt(`http://localhost:${await freePort()}`)
    assert.deepEqual([neverLeft.code, errorIn(neverLeft).code], [5, 'UNREACHABLE'])
    assert.doesNotMatch(neverLeft.stderr, /whoami/)
  })
})
