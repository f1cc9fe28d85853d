import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, run, startTestService } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'
import { startJsonParrot } from '../support/impostor.ts'

/** The lines of a shell that a text for people holds: those that are set in. */
function commandsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []))
}

suite('verify', () => {
  test(
    'makes a challenge, and the commands it prints do what they say',
    needs('openssl'),
    async (t) => {
      const service = await startTestService(t)
      const owner = await service.operator.addVerifiedOwner()
      const agent = await certifiedCli(t, service, owner)
      const stranger = cliFor(t)
      const asked = await stranger.run('verify', agent.did, '--url', service.url)
      assert.deepEqual([asked.code, asked.stderr], [0, ''])
      const [sign = '', printf = '', openssl = '', check = ''] = commandsIn(asked.stdout)
      const [, challenge = ''] =
        /^countersign sign --unbound '(countersign-challenge-[\w-]{43})'$/.exec(sign) ?? []
      assert.ok(asked.stdout.startsWith(`${challenge}\n`))

      const signature = (await agent.run('sign', '--unbound', challenge)).stdout.trim()
      const shell = `${printf}\n${openssl.replace('agent.pem', agent.keyFile)}`
      const byOpenssl = await run('sh', ['-c', `cd "${agent.home}"\n${shell}`])
      assert.equal(byOpenssl.stdout, signature)

      const args = check
        .replace(/^countersign /, '')
        .replaceAll("'", '')
        .split(' ')
      const verified = await stranger.run(...args.slice(0, -1), signature)
      assert.equal(args.at(-1), '<signature>')
      assert.deepEqual([verified.code, verified.stderr], [0, ''])
      assert.ok(verified.stdout.startsWith('VERIFIED\n'))
      assert.match(verified.stdout, new RegExp(`^ {2}DID {5}${agent.did}$`, 'm'))
      assert.match(verified.stdout, /^ {2}Owner {3}verified by in-person$/m)
    },
  )

  test('makes another challenge each time, and asks no service for it', async (t) => {
    const cli = cliFor(t)
    const { publicKey } = newKey()
    const one = await cli.json('verify', publicKey)
    const other = await cli.json('verify', publicKey)
    assert.equal(one.agent, publicKey)
    assert.notEqual(one.challenge, other.challenge)
  })

  test('is 0 for VERIFIED and for nothing else', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const did = await claimAgent(service, owner, key)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const verify = (who: string, signature: string, ...more: string[]) =>
      cli.run('verify', who, '--challenge', 'c', '--signature', signature, ...more)
    for (const who of [did, did.slice(-24), key.publicKey]) {
      const { code, stdout } = await verify(who, key.sign('c'), '--json')
      assert.equal(code, 0)
      assert.deepEqual(JSON.parse(stdout), {
        verified: true,
        signatureValid: true,
        certified: true,
        identityLevel: 'in-person',
        agent: { svcDid: did, displayName: `Agent ${did.slice(-24, -18)}`, status: 'active' },
      })
    }
    const forged = await verify(did, newKey().sign('c'))
    assert.deepEqual([forged.code, forged.stdout], [4, 'NOT VERIFIED\n'])
    assert.match(forged.stderr, /^countersign: The signature .*\(req_\w+\)\n$/)
    const forgedJson = await verify(did, newKey().sign('c'), '--json')
    assert.deepEqual([forgedJson.code, forgedJson.stdout], [4, ''])
    assert.equal(errorIn(forgedJson).code, 'INVALID_SIGNATURE')

    const other = newKey()
    const unknown = await verify(other.publicKey, other.sign('c'))
    assert.deepEqual([unknown.code, unknown.stdout], [3, 'NOT VERIFIED\n'])
    assert.equal((await verify(`svc:agent:${'1'.repeat(24)}`, key.sign('c'))).code, 3)

    await changeStatus(service, did, 'suspend')
    const suspended = await verify(did, key.sign('c'))
    assert.deepEqual([suspended.code, suspended.stderr], [4, ''])
    assert.match(suspended.stdout, /^NOT VERIFIED\n.*the certificate is suspended\./)
    await changeStatus(service, did, 'revoke')
    const revoked = await verify(did, key.sign('c'), '--json')
    assert.deepEqual([revoked.code, revoked.stderr], [4, ''])
    assert.equal(JSON.parse(revoked.stdout).verified, false)
  })

  test('of several DIDs of one key, speaks of the one that was named', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const key = newKey()
    const dids = [
      await claimAgent(service, owner, key, 'one'),
      await claimAgent(service, owner, key, 'two'),
    ]
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const proof = ['--challenge', 'c', '--signature', key.sign('c')]
    for (const did of dids) {
      const { agent } = await cli.json<{ agent: { svcDid: string } }>('verify', did, ...proof)
      assert.equal(agent.svcDid, did)
    }
  })

  test('refuses a claim for a challenge, half a proof, and what is no signature', async (t) => {
    const cli = cliFor(t)
    const { publicKey, sign } = newKey()
    const claim = `svc-verify-${'0f'.repeat(16)}|main`
    const cases = [
      [4, '--challenge', claim, '--signature', sign(claim)],
      [2, '--challenge', 'c'],
      [2, '--signature', sign('c')],
      [2, '--challenge', 'c', '--signature', sign('c').slice(1)],
      [2, '--challenge', '', '--signature', sign('')],
    ] as const
    for (const [code, ...args] of cases) {
      const refused = await cli.run('verify', publicKey, ...args)
      assert.deepEqual([refused.code, refused.stdout], [code, ''], args.join(' '))
    }
  })

  test('believes no answer that contradicts itself', async (t) => {
    const key = newKey()
    const agent = { svcDid: `svc:agent:${'7'.repeat(24)}`, displayName: 'X', status: 'active' }
    const good = {
      verified: true,
      signatureValid: true,
      certified: true,
      identityLevel: 'unverified',
      agent,
    }
    const verify = async (body: unknown) => {
      const url = await startJsonParrot(t, body)
      const proof = ['--challenge', 'c', '--signature', key.sign('c')]
      return cliFor(t).run('verify', key.publicKey, '--url', url, ...proof)
    }
    assert.match((await verify(good)).stdout, /^VERIFIED\n[\s\S]*identity not verified/)
    for (const lie of [
      { ...good, signatureValid: false },
      { ...good, certified: false },
      { ...good, verified: false },
      { ...good, agent: { ...agent, status: 'revoked' } },
    ]) {
      const { code, stdout } = await verify(lie)
      assert.equal(code, 4)
      assert.match(stdout, /^NOT VERIFIED\n/)
    }
    assert.equal((await verify({ ...good, verified: 'true' })).code, 1)
  })
})
