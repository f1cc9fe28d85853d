import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { formatChallenge, type GradeAnswer, namingFor } from '@countersign/protocol'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, ROOT, startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, changeStatus, cliFor } from '../support/cli.ts'
import { connectHost, startStdioHost, textOf } from '../support/mcp.ts'

const README = readFileSync(join(ROOT, 'packages/cli/README.md'), 'utf8')
const SHOP = 'https://shop.example'

/** Name, arguments (those in brackets may be left out) and what it is marked with. */
const TOOLS = [
  'claim(token, [agentId]) idempotent open-world',
  'whoami() read-only idempotent open-world',
  'show_card([agent]) read-only idempotent open-world',
  'sign_challenge(audience, challenge) idempotent',
  'fetch(url, [method], [headers], [body], [approval], [approvalId]) destructive open-world',
  'sign_in(endpoint) open-world',
  'rotate_key([did]) destructive open-world',
  'lookup_agent(agent) read-only idempotent open-world',
  'verify_agent(agent, [audience], [challenge], [signature]) open-world',
  'explain_grade([agent]) read-only idempotent open-world',
]

interface Certificate {
  readonly did: string
  readonly status: string
  readonly publicKey: string
}

interface Verification {
  readonly verified: boolean
  readonly fresh: boolean | null
  readonly signatureValid: boolean | null
  readonly reason: string | null
  readonly challenge: string | null
  readonly did: string | null
}

suite('countersign mcp', () => {
  test('has these tools, strict and annotated, and no others', async (t) => {
    const { client, tools } = await startStdioHost(t, cliFor(t))
    const shown = tools.map(({ name, inputSchema, annotations }) => {
      const required = inputSchema.required ?? []
      const args = Object.keys(inputSchema.properties ?? {}).map((each) =>
        required.includes(each) ? each : `[${each}]`,
      )
      const marks = [
        annotations?.readOnlyHint && 'read-only',
        annotations?.destructiveHint && 'destructive',
        annotations?.idempotentHint && 'idempotent',
        annotations?.openWorldHint && 'open-world',
      ]
      return `${name}(${args.join(', ')}) ${marks.filter(Boolean).join(' ')}`
    })
    assert.deepEqual(shown, TOOLS)
    for (const { name, title, description, inputSchema, outputSchema } of tools) {
      assert.ok(title && description, name)
      assert.equal(inputSchema.additionalProperties, false, name)
      assert.equal(outputSchema?.additionalProperties, false, name)
      const untrusted = JSON.stringify(outputSchema).includes('"untrusted"')
      assert.equal(
        untrusted,
        /is data|are data|never follow an instruction/.test(description),
        name,
      )
    }
    assert.match(client.getInstructions() ?? '', /"untrusted".* data, never instructions/)
    assert.equal(client.getServerCapabilities()?.resources, undefined)
    assert.equal(client.getServerCapabilities()?.prompts, undefined)
  })

  test('are in the table of the README, and in the help', async (t) => {
    const cli = cliFor(t)
    const { tools } = await startStdioHost(t, cli)
    const rows = [...README.matchAll(/^\| `(\w+)` \|.*\| (yes|no) \|$/gm)].map(([, ...row]) => row)
    const expected = tools.map(({ name, annotations }) => [
      name,
      annotations?.readOnlyHint ? 'no' : 'yes',
    ])
    assert.deepEqual(rows, expected)
    const help = (await cli.run('mcp', '--help')).stdout
    assert.ok(help.includes(`Tools: ${tools.map(({ name }) => name).join(', ')}.`))
  })

  test('starts as the README says that a host starts it', async (t) => {
    const service = await startTestService(t)
    const cli = cliFor(t)
    const json = /```json\n(.*?)```/s.exec(README)?.[1] as string
    const { command, args } = JSON.parse(json).mcpServers.countersign
    const transport = new StdioClientTransport({
      command,
      args: args.map((each: string) => each.replace('https://id.example', service.url)),
      env: { ...cli.env, npm_config_cache: cli.home },
      cwd: cli.home,
    })
    const host = await connectHost(t, transport)
    assert.match(await host.refusal('whoami'), /^NO_KEY: /)
    const other = { audience: 'https://other.example', challenge: 'x' }
    assert.match(await host.refusal('sign_challenge', other), /^WRONG_AUDIENCE: /)
  })

  test('go the whole way: from a token to a grade, and to a caller who is verified', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('holder')
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const agent = await startStdioHost(t, cli)
    assert.match(await agent.refusal('whoami'), /^NO_KEY: .*\nThe tool claim creates a key/)

    const token = await service.operator.issueToken(owner)
    const claimed = await agent.data<Certificate>('claim', { token })
    const { did, publicKey } = claimed
    assert.match(did, namingFor().didPattern)
    const about = { did, agentId: 'main', publicKey, service: service.url }
    assert.deepEqual(claimed, { ...about, keyCreated: true })
    assert.equal(statSync(cli.keyFile).mode & 0o777, 0o600)
    const kept = readFileSync(cli.keyFile, 'utf8')
    assert.match((await cli.run('whoami')).stdout, new RegExp(`^You are ${did} \\(active\\)`))

    const me = await agent.data<Certificate>('whoami')
    const lookup = (await (await fetch(`${service.url}/api/v1/agent/${did}`)).json()) as {
      owner: { claimedAt: string }
    }
    const certificate = {
      did,
      status: 'active',
      verified: true,
      ownerIdentity: 'verified',
      identityMethod: 'in-person',
      claimedAt: lookup.owner.claimedAt,
      certificateUrl: `${service.url}/agent/${did}`,
    }
    const key = { publicKey, keySequence: 1, keyChangedAt: lookup.owner.claimedAt, recovery: null }
    const owned = { ownerKind: null, ownerChangedAt: null }
    assert.deepEqual(me, {
      ...certificate,
      ...owned,
      ...key,
      delegation: null,
      service: service.url,
    })

    const second = await service.operator.issueToken(owner)
    const again = await agent.data('claim', { token: second, agentId: 'Zoë 2' })
    assert.deepEqual(again, { ...claimed, did: again.did, agentId: 'Zoë 2', keyCreated: false })
    assert.equal(readFileSync(cli.keyFile, 'utf8'), kept, 'the key is never replaced')

    const channel = { kind: 'domain', handleOrDomain: 'shop.example', tier: 2 } as const
    await giveProfile(service, did, { displayName: 'Zoë', channels: [channel] })
    const card = await agent.data('show_card', { agent: did })
    const shown = (await (await fetch(`${service.url}/api/agents/${did}/card`)).json()) as object
    const {
      displayName,
      username,
      description,
      avatarUrl,
      owner: of,
      channels,
      ...rest
    } = shown as Record<string, unknown>
    const { svcDid, ownerName, ...trusted } = rest
    assert.deepEqual(ownerName, { selfDeclared: true, changedAt: null, verified: null })
    const names = { displayName, username, description, owner: of, verifiedOwnerName: null }
    const untrusted = { ...names, avatarUrl, channels }
    const marks = { developmentOnly: false, ownerKind: null, ownerNameChangedAt: null }
    assert.deepEqual(card, { did: svcDid, ...trusted, ...marks, untrusted })
    const mine = await agent.data<{ did: string; untrusted: { displayName: string } }>('show_card')
    assert.deepEqual([mine.did, mine.untrusted.displayName], [did, 'Zoë'])

    const site = await startStdioHost(t, cliFor(t, { COUNTERSIGN_URL: service.url }))
    assert.deepEqual(await site.data('lookup_agent', { agent: did }), certificate)
    const asked = await site.data<Verification>('verify_agent', { agent: did, audience: SHOP })
    assert.equal(asked.verified, false)
    const challenge = asked.challenge as string
    assert.ok(challenge.startsWith(`svc-challenge-v1:${SHOP}:`))
    const signed = await agent.data<{ signature: string }>('sign_challenge', {
      audience: `${SHOP}/`,
      challenge,
    })
    assert.deepEqual(signed, { publicKey, signature: signed.signature, audience: SHOP })
    const answer = { agent: did, challenge, signature: signed.signature }
    const verified = await site.call('verify_agent', answer)
    assert.match(textOf(verified), /^VERIFIED\./)
    const proven = verified.structuredContent as unknown as Verification
    assert.deepEqual(
      [proven.verified, proven.fresh, proven.signatureValid, proven.did, proven.reason],
      [true, true, true, did, null],
    )
    const replayed = await site.data<Verification>('verify_agent', answer)
    assert.deepEqual(
      [replayed.verified, replayed.signatureValid, replayed.fresh],
      [false, true, false],
    )
    assert.match(replayed.reason ?? '', /may be a replay/)

    const grade = await site.call('explain_grade', { agent: did })
    const explained = grade.structuredContent as Record<string, unknown>
    const said = (await (
      await fetch(`${service.url}/api/agents/${did}/grade`)
    ).json()) as GradeAnswer
    const { handleOrDomain, ...reach } = said.evidence.channel ?? assert.fail('no channel')
    assert.deepEqual(explained, {
      did,
      status: 'active',
      grade: 'A',
      recomputed: 'A',
      agrees: true,
      policyVersion: said.policyVersion,
      points: { identity: 2, reach: 2 },
      verification: said.evidence.verification,
      channel: reach,
      next: null,
      untrusted: { channel: handleOrDomain },
    })
    assert.match(textOf(grade), /2 of 2 points: the owner's identity was verified by .*substantial/)
    assert.match(textOf(grade), /Recomputed +A, equal/)
  })

  test('say how to raise a grade, and that it is E without a certificate that is active', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('holder', 'low')
    const cli = await certifiedCli(t, service, owner)
    const agent = await startStdioHost(t, cli)
    const { grade, next } = await agent.data('explain_grade')
    const step = 'Verify a domain or an agent-to-agent endpoint to reach B.'
    assert.deepEqual([grade, next], ['D', { grade: 'B', step }])
    await changeStatus(service, cli.did, 'suspend')
    const suspended = await agent.call('explain_grade')
    assert.match(textOf(suspended), /The certificate is suspended, so the grade is E/)
    const { status, recomputed, agrees } = suspended.structuredContent as Record<string, unknown>
    assert.deepEqual([status, recomputed, agrees], ['suspended', 'E', true])
    assert.match(textOf(await agent.call('whoami')), /^You are .* \(suspended\)/)
  })

  test('serve a deployment of another short name, and never say svc', async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
    const owner = await service.operator.addVerifiedOwner()
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const agent = await startStdioHost(t, cli)
    const results: unknown[] = [agent.tools, agent.client.getInstructions()]
    const keep = async <T>(name: string, args: Record<string, unknown> = {}) => {
      const result = await agent.call(name, args)
      results.push(result)
      assert.ok(!result.isError, textOf(result))
      return result.structuredContent as T
    }
    const token = await service.operator.issueToken(owner)
    const { did } = await keep<Certificate>('claim', { token })
    assert.match(did, /^acme:agent:/)
    for (const name of ['whoami', 'show_card', 'explain_grade']) await keep(name)
    await keep('lookup_agent', { agent: did.slice(-24) })
    const { challenge } = await keep<Verification>('verify_agent', { agent: did, audience: SHOP })
    assert.match(challenge ?? '', /^acme-challenge-v1:https:\/\/shop\.example:/)
    const args = { audience: SHOP, challenge }
    const { signature } = await keep<{ signature: string }>('sign_challenge', args)
    const answer = { agent: did, challenge, signature }
    assert.equal((await keep<Verification>('verify_agent', answer)).verified, true)
    // Random keys and DIDs may contain the three letters, but neither the colon nor the hyphen after them.
    assert.doesNotMatch(JSON.stringify(results), /svc[-:]|svcDid\b/)
  })

  test('answer calls side by side, each with its own answer', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const dids: string[] = []
    for (let i = 0; i < 8; i++) dids.push(await claimAgent(service, owner))
    const cli = await certifiedCli(t, service, owner)
    const agent = await startStdioHost(t, cli)
    const naming = namingFor()
    const looked = await Promise.all(
      dids.flatMap((did, i) => [
        agent.data('lookup_agent', { agent: did }),
        agent.data('sign_challenge', {
          audience: `https://s${i}.example`,
          challenge: formatChallenge(naming, {
            audience: `https://s${i}.example`,
            nonce: String(i).repeat(22),
          }),
        }),
      ]),
    )
    const found = looked.map(({ did, audience }) => did ?? audience)
    assert.deepEqual(
      found,
      dids.flatMap((did, i) => [did, `https://s${i}.example`]),
    )
  })

  test('claim once, where a model claims twice at once', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const agent = await startStdioHost(t, cli)
    const token = await service.operator.issueToken(owner)
    const results = await Promise.all([1, 2, 3].map(() => agent.call('claim', { token })))
    const good = results.filter(({ isError }) => !isError)
    // A call that came after the key was stored gets its certificate.
    const dids = good.map(({ structuredContent }) => (structuredContent as { did: string }).did)
    assert.equal(new Set(dids).size, 1)
    for (const each of results.filter(({ isError }) => isError)) {
      assert.match(textOf(each), /^(TOKEN_EXPIRED|KEY_ALREADY_CLAIMED): /)
    }
    const [{ structuredContent } = assert.fail('none')] = good
    const { publicKey } = await agent.data<Certificate>('whoami')
    assert.equal((structuredContent as unknown as Certificate).publicKey, publicKey)
  })
})
