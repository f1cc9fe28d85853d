import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { suite, test } from 'node:test'
import { formatChallenge, namingFor } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, cliFor } from '../support/cli.ts'
import { startImpostor, startJsonParrot } from '../support/impostor.ts'
import { startStdioHost, textOf } from '../support/mcp.ts'

const SHOP = 'https://shop.example'
const TOKEN = `svc-verify-${'0f'.repeat(16)}`
const NOBODY = `svc:agent:${'1'.repeat(24)}`

function challengeOf(audience: string): string {
  return formatChallenge(namingFor(), { audience, nonce: 'n'.repeat(22) })
}

suite('countersign mcp refuses', () => {
  test('to sign what is no challenge of the site that the model talks to', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const agent = await startStdioHost(t, cli)
    const cases = [
      ['LOOKS_LIKE_A_CLAIM', `${TOKEN}|main`],
      ['LOOKS_LIKE_A_CLAIM', `ACME-verify-${'0f'.repeat(16)}|main`],
      ['WRONG_AUDIENCE', challengeOf('https://evil.example')],
      ['WRONG_AUDIENCE', challengeOf('http://shop.example')],
      ['WRONG_AUDIENCE', challengeOf('https://shop.example:8443')],
      ['NOT_A_CHALLENGE', 'please sign this'],
      ['NOT_A_CHALLENGE', ` ${challengeOf(SHOP)}`],
      ['NOT_A_CHALLENGE', `${challengeOf(SHOP)}\n`],
      ['NOT_A_CHALLENGE', `svc-challenge-v1:${SHOP}:short`],
      ['NOT_A_CHALLENGE', `svc-challenge-v2:${SHOP}:${'n'.repeat(22)}`],
      ['NOT_A_CHALLENGE', `svc-challenge-v1:${SHOP}/path:${'n'.repeat(22)}`],
      ['VALIDATION_ERROR', ''],
      ['VALIDATION_ERROR', 'a\0b'],
    ] as const
    for (const [code, challenge] of cases) {
      const refusal = await agent.refusal('sign_challenge', { audience: SHOP, challenge })
      assert.ok(refusal.startsWith(`${code}: `), `${JSON.stringify(challenge)}: ${refusal}`)
    }
    for (const audience of [
      'shop.example',
      `${SHOP}/path`,
      'https://u:pw@shop.example',
      'ftp://a',
    ]) {
      const refusal = await agent.refusal('sign_challenge', {
        audience,
        challenge: challengeOf(SHOP),
      })
      assert.match(refusal, /^USAGE: The audience is an address without path/)
      assert.doesNotMatch(refusal, /pw/)
    }
    const { audience } = await agent.data('sign_challenge', {
      audience: SHOP,
      challenge: challengeOf(SHOP),
    })
    assert.equal(audience, SHOP)
  })

  test('to sign for another site than the operator has named', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const other = 'http://localhost:3000'
    const agent = await startStdioHost(t, cli, '--audience', SHOP, '--audience', `${other}/`)
    for (const audience of [SHOP, other]) {
      const signed = await agent.data('sign_challenge', {
        audience,
        challenge: challengeOf(audience),
      })
      assert.equal(signed.audience, audience)
    }
    const evil = 'https://evil.example'
    const refusal = await agent.refusal('sign_challenge', {
      audience: evil,
      challenge: challengeOf(evil),
    })
    assert.match(
      refusal,
      /^WRONG_AUDIENCE: .* for https:\/\/shop\.example, http:\/\/localhost:3000/,
    )
  })

  test('plain challenges, but where the operator allows them; and never a token or a request', async (t) => {
    const cli = cliFor(t)
    const { publicKey } = await cli.json<{ publicKey: string }>('keygen')
    const agent = await startStdioHost(t, cli, '--allow-plain-challenges')
    const signed = await agent.data('sign_challenge', { audience: SHOP, challenge: 'hello' })
    const { signature } = await cli.json('sign', '--unbound', 'hello')
    assert.deepEqual(signed, { publicKey, signature, audience: null })
    const jws = `${Buffer.from('{"alg":"EdDSA"}').toString('base64url')}.e30`
    const cases = [
      ['LOOKS_LIKE_A_CLAIM', `${TOKEN}|main`],
      ['WRONG_AUDIENCE', challengeOf('https://evil.example')],
      ['NOT_A_CHALLENGE', 'svc-challenge-v1:nonsense'],
      ['NOT_A_CHALLENGE', jws],
      ['NOT_A_CHALLENGE', '"@signature-params": ();created=1'],
      ['NOT_A_CHALLENGE', 'svc-rotate-v1'],
      ['NOT_A_CHALLENGE', '"@method": POST\n"@authority": id.example'],
      ['NOT_A_CHALLENGE', 'hello\u202e'],
    ] as const
    for (const [code, challenge] of cases) {
      const refusal = await agent.refusal('sign_challenge', { audience: SHOP, challenge })
      assert.ok(refusal.startsWith(`${code}: `), `${challenge}: ${refusal}`)
    }
    const both = await cli.run('mcp', '--allow-plain-challenges', '--audience', SHOP)
    assert.deepEqual([both.code, both.stdout], [2, ''])
    assert.match(both.stderr, /cannot be combined/)
  })

  test('what is not in the schema, without repeating it', async (t) => {
    const agent = await startStdioHost(t, cliFor(t))
    for (const { name } of agent.tools) {
      const unknown = await agent.refusal(name, { [TOKEN]: TOKEN })
      assert.ok(!unknown.includes('0f0f'), unknown)
      assert.match(unknown, /unknown arguments; known are: /)
    }
    const cases = [
      ['claim', {}],
      ['claim', { token: 7 }],
      ['claim', { token: `${TOKEN}${'0'.repeat(100)}` }],
      ['lookup_agent', { agent: [NOBODY] }],
      ['lookup_agent', { agent: '' }],
      ['sign_challenge', { audience: SHOP, challenge: 'x'.repeat(8193) }],
    ] as const
    for (const [name, args] of cases) {
      const refusal = await agent.refusal(name, args)
      assert.match(refusal, new RegExp(`Invalid arguments for tool ${name}`))
      assert.doesNotMatch(refusal, /0f0f|xxxx/)
    }
    for (const token of [TOKEN.slice(0, -1), `${TOKEN}|main`]) {
      const refusal = await agent.refusal('claim', { token })
      assert.match(refusal, /^USAGE: A claim token is /)
      assert.doesNotMatch(refusal, /0f0f/)
    }
    assert.match(await agent.refusal('claim', { token: TOKEN, agentId: 'a\nb' }), /^USAGE: /)
    assert.match(await agent.refusal('lookup_agent', { agent: 'Zoë' }), /^USAGE: Give an agent/)
    for (const half of [{}, { challenge: 'c' }, { signature: 's' }]) {
      const refusal = await agent.refusal('verify_agent', { agent: NOBODY, ...half })
      assert.match(refusal, /^USAGE: Give audience/)
    }
    assert.match(await agent.refusal('sign_everything'), /Tool sign_everything not found/)
  })

  test('with the code and the words of the service', async (t) => {
    const service = await startTestService(t)
    const [one, other] = [
      await service.operator.addVerifiedOwner(),
      await service.operator.addVerifiedOwner(),
    ]
    const cli = await certifiedCli(t, service, one)
    const agent = await startStdioHost(t, cli)
    assert.match(
      await agent.refusal('claim', { token: TOKEN, agentId: 'x' }),
      /^NOT_FOUND: This claim token was never issued\. \(request req_\w+\)$/,
    )
    const theirs = await service.operator.issueToken(other)
    assert.match(
      await agent.refusal('claim', { token: theirs, agentId: 'x' }),
      /^KEY_ALREADY_CLAIMED: Another owner .*\(request req_\w+\)\nDo not retry\./,
    )
    const superseded = await service.operator.issueToken(one)
    await service.operator.issueToken(one)
    assert.match(
      await agent.refusal('claim', { token: superseded, agentId: 'x' }),
      /^TOKEN_EXPIRED: .*\nAsk the owner for a fresh token\.$/,
    )
    for (const name of ['lookup_agent', 'show_card', 'explain_grade']) {
      assert.match(await agent.refusal(name, { agent: NOBODY }), /^NOT_FOUND: .*\(request req_/)
    }
    const unknown = { agent: NOBODY, audience: SHOP }
    assert.match(await agent.refusal('verify_agent', unknown), /^NOT_FOUND: /)
    const keyed = cliFor(t, { COUNTERSIGN_URL: service.url })
    await keyed.run('keygen')
    const nobody = await startStdioHost(t, keyed)
    assert.match(await nobody.refusal('whoami'), /^NOT_FOUND: Your key \S+ has no certificate/)
  })

  test('a claim without leaving a key behind, unless its outcome is unknown', async (t) => {
    const service = await startTestService(t)
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const agent = await startStdioHost(t, cli)
    const files = () => readdirSync(dirname(cli.keyFile))
    assert.match(await agent.refusal('claim', { token: TOKEN }), /^NOT_FOUND: /)
    assert.deepEqual(files(), [])
    assert.match(await agent.refusal('whoami'), /^NO_KEY: /)

    // Claims at the same moment each have a key of their own, so that a refused one takes no other's key away.
    const token = await service.operator.issueToken(await service.operator.addVerifiedOwner())
    const [claimed] = await Promise.all([
      agent.data<{ did: string }>('claim', { token }),
      agent.refusal('claim', { token: TOKEN, agentId: 'x' }),
    ])
    assert.equal((await agent.data<{ did: string }>('whoami')).did, claimed.did)
    assert.deepEqual(files(), [basename(cli.keyFile)])

    const silent = await startImpostor(t, (request) => request.socket.destroy())
    const other = cliFor(t, { COUNTERSIGN_URL: silent })
    const lost = await startStdioHost(t, other)
    assert.match(await lost.refusal('claim', { token: TOKEN }), /^OUTCOME_UNKNOWN: /)
    assert.deepEqual(readdirSync(dirname(other.keyFile)), [basename(other.keyFile)])
  })

  test('to call verified who signs wrongly, for another, or what others asked', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const [key, otherKey] = [newKey(), newKey()]
    const did = await claimAgent(service, owner, key)
    const otherDid = await claimAgent(service, owner, otherKey)
    const site = await startStdioHost(t, cliFor(t, { COUNTERSIGN_URL: service.url }))
    const ask = async (agent: string) =>
      (await site.data<{ challenge: string }>('verify_agent', { agent, audience: SHOP })).challenge

    const challenge = await ask(did)
    const forged = { agent: did, challenge, signature: otherKey.sign(challenge) }
    const refused = await site.call('verify_agent', forged)
    assert.match(textOf(refused), /^NOT VERIFIED\.\nINVALID_SIGNATURE: /)
    const { verified, signatureValid } = refused.structuredContent as Record<string, unknown>
    assert.deepEqual([verified, signatureValid], [false, false])
    // A challenge counts for one answer, and a wrong one is one.
    const late = { agent: did, challenge, signature: key.sign(challenge) }
    assert.equal((await site.data('verify_agent', late)).verified, false)

    const forOther = await ask(otherDid)
    const crossed = { agent: did, challenge: forOther, signature: key.sign(forOther) }
    const { fresh, reason } = await site.data('verify_agent', crossed)
    assert.equal(fresh, false)
    assert.match(String(reason), /not created here for this agent/)

    const own = { agent: did, challenge: 'mine', signature: key.sign('mine') }
    const plain = await site.data('verify_agent', own)
    assert.deepEqual([plain.verified, plain.signatureValid, plain.fresh], [false, true, false])
    const claim = { agent: did, challenge: `${TOKEN}|main`, signature: key.sign(`${TOKEN}|main`) }
    assert.match(await site.refusal('verify_agent', claim), /^LOOKS_LIKE_A_CLAIM: /)
    const short = { agent: did, challenge: 'c', signature: 'AAAA' }
    assert.match(await site.refusal('verify_agent', short), /^USAGE: A signature is 64 bytes/)
  })

  test('in words where the service is down, answers nonsense or speaks of another agent', async (t) => {
    const calls = [
      ['whoami', {}],
      ['show_card', {}],
      ['lookup_agent', { agent: NOBODY }],
      ['verify_agent', { agent: NOBODY, audience: SHOP }],
      ['explain_grade', { agent: NOBODY }],
    ] as const
    const lie = { svcDid: `svc:agent:${'7'.repeat(24)}`, status: 'active' }
    const broken = [
      ['UNREACHABLE', `http://localhost:${await freePort()}`],
      ['NO_ANSWER', await startImpostor(t, (request) => request.socket.destroy())],
      ['UNEXPECTED_ANSWER', await startJsonParrot(t, lie)],
    ] as const
    for (const [code, url] of broken) {
      const cli = cliFor(t, { COUNTERSIGN_URL: url })
      await cli.run('keygen')
      const agent = await startStdioHost(t, cli)
      for (const [name, args] of calls) {
        const refusal = await agent.refusal(name, args)
        assert.ok(refusal.startsWith(`${code}: ${url} `), `${name}: ${refusal}`)
        assert.doesNotMatch(refusal, /\.ts|node:|\bat /)
      }
      const outcome = code === 'UNREACHABLE' ? code : 'OUTCOME_UNKNOWN'
      const refusal = await agent.refusal('claim', { token: TOKEN })
      assert.ok(refusal.startsWith(`${outcome}: `), refusal)
      // What asks no service goes on.
      await agent.data('sign_challenge', { audience: SHOP, challenge: challengeOf(SHOP) })
    }
  })

  test('a key that is none, and a grade that does not follow from its evidence', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    writeFileSync(cli.keyFile, 'nonsense')
    const agent = await startStdioHost(t, cli)
    const challenge = challengeOf(SHOP)
    const unusable = await agent.refusal('sign_challenge', { audience: SHOP, challenge })
    assert.match(unusable, /^UNUSABLE_KEY: /)
    assert.match(await agent.refusal('claim', { token: TOKEN }), /^UNUSABLE_KEY: /)

    const answer = {
      svcDid: NOBODY,
      status: 'active',
      policyVersion: 1,
      grade: 'A',
      tier: null,
      gradeIsFallback: false,
      points: { identity: 2, reach: 2 },
      next: null,
      evidence: { verification: null, channel: null },
    }
    const explain = async (body: object) => {
      const url = await startJsonParrot(t, body)
      const host = await startStdioHost(t, cliFor(t, { COUNTERSIGN_URL: url }))
      return host.call('explain_grade', { agent: NOBODY })
    }
    const lie = await explain(answer)
    assert.match(textOf(lie), /Recomputed +E\. The grade does not match its evidence/)
    const { grade, recomputed, agrees } = lie.structuredContent as Record<string, unknown>
    assert.deepEqual([grade, recomputed, agrees], ['A', 'E', false])
    const newer = await explain({ ...answer, policyVersion: 2 })
    assert.match(textOf(newer), /Recomputed +not possible: the service uses policy version 2/)
    assert.equal((newer.structuredContent as Record<string, unknown>).recomputed, null)
  })
})
