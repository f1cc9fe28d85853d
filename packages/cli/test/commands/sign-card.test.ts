import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { type AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import type { OwnerChannel } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { startDnsServer } from '../../../../test/support/dns-server.ts'
import { outsideEnv, startHttpsSite } from '../../../../test/support/https-site.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { type CertifiedCli, certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'

const DOMAIN = 'agents.example.com'

interface Signature {
  readonly protected: string
  readonly signature: string
}

type SignedCard = AgentCard & { readonly signatures: readonly Signature[] }

/** A card as it is written, naming an agent by an extension. */
function cardOf(uri: string, did: unknown, nonce = 'n') {
  const params = { did, nonce, expiry: '2999-01-01T00:00:00Z' }
  return {
    name: 'Parcel clerk',
    description: 'Où est mon colis ? 📦',
    version: '1.0.0',
    supportedInterfaces: [],
    capabilities: { streaming: false, extensions: [{ uri, params }] },
    'x-ours': { kept: true },
  }
}

function writeCard({ home }: { home: string }, card: unknown, name = 'agent-card.json'): string {
  const path = join(home, name)
  writeFileSync(path, typeof card === 'string' ? card : JSON.stringify(card))
  return path
}

function headerOf({ protected: header }: Signature) {
  return JSON.parse(Buffer.from(header, 'base64url').toString())
}

/** By the verifier of the A2A SDK. @throws where no signature is by the key */
async function verifyBySdk(card: SignedCard, { publicKey }: CertifiedCli): Promise<void> {
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  await verifyAgentCardSignature(async () => key)(card)
}

suite('sign-card', () => {
  test('signs the card that the owner was asked for, and the service takes it as proof', async (t) => {
    const dns = await startDnsServer(t)
    const site = await startHttpsSite(t, [DOMAIN])
    const service = await startTestService(t, outsideEnv([dns], [site]))
    const ownerId = await service.operator.addVerifiedOwner()
    const [owner, cli] = [await signIn(service, ownerId), await certifiedCli(t, service, ownerId)]
    const channels = `/api/account/agents/${cli.did}/channels`
    const channel = jsonOf<OwnerChannel>(
      await owner.post(channels, { kind: 'a2a', handleOrDomain: DOMAIN }),
    )
    const [method] = channel.proof?.methods ?? []
    const fieldOf = (label: string) => method?.fields.find((each) => each.label === label)?.value
    const extension = JSON.parse(fieldOf('Extension') as string)
    const card = { ...cardOf('', ''), capabilities: { extensions: [extension] } }
    writeCard(cli, card)

    // The command as it is shown to the owner, but for where the files are.
    const command = fieldOf('Signing') as string
    const [, args = ''] = /^npx -y \S+\.tgz (.*)$/.exec(command) ?? assert.fail(command)
    const paths = args
      .split(' ')
      .map((each) => (each.endsWith('.json') ? join(cli.home, each) : each))
    const { code, stderr } = await cli.run(...paths)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })

    site.serve(new URL(fieldOf('Address') as string).pathname, {
      body: readFileSync(join(cli.home, 'signed-card.json')),
    })
    const checked = jsonOf<OwnerChannel>(await owner.post(`${channels}/${channel.id}/check`))
    assert.equal(checked.state, 'verified', JSON.stringify(checked.checks))
  })

  test('prints the card and nothing else, whole, signed under the name in the DID document', async (t) => {
    const service = await startTestService(t)
    const cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
    const card = cardOf(`${service.url}/a2a/identity/v1`, cli.did)
    const path = writeCard(cli, card)
    const { code, stdout, stderr } = await cli.run('sign-card', path)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    const { signatures, ...rest } = JSON.parse(stdout) as SignedCard
    assert.deepEqual(rest, card)
    assert.equal(signatures.length, 1)
    const host = encodeURIComponent(new URL(service.url).host)
    assert.deepEqual(headerOf(signatures[0] as Signature), {
      alg: 'EdDSA',
      typ: 'JOSE',
      kid: `did:web:${host}:agent:${cli.did}#key-1`,
    })
    await verifyBySdk(JSON.parse(stdout), cli)
    const secret = readFileSync(cli.keyFile, 'utf8').split('\n')[1] as string
    assert.ok(!stdout.includes(secret))
    assert.deepEqual(await cli.json('sign-card', path), JSON.parse(stdout))
  })

  test('signs a changed card anew, in place, and leaves the signatures of others', async (t) => {
    const service = await startTestService(t)
    const cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
    const theirs = { protected: Buffer.from('{"kid":"a"}').toString('base64url'), signature: 'x' }
    const card = cardOf(`${service.url}/a2a/identity/v1`, cli.did)
    const path = writeCard(cli, { ...card, signatures: [theirs] })
    await cli.json('sign-card', path, '-o', path)
    const first = JSON.parse(readFileSync(path, 'utf8')) as SignedCard
    writeCard(cli, { ...first, name: 'Parcel office' })
    // The SDK prints the signatures that it does not take.
    t.mock.method(console, 'debug', () => undefined)
    await assert.rejects(verifyBySdk(JSON.parse(readFileSync(path, 'utf8')), cli))

    const { file } = await cli.json('sign-card', path, '--output', path)

    assert.equal(file, path)
    const second = JSON.parse(readFileSync(path, 'utf8')) as SignedCard
    assert.equal(second.name, 'Parcel office')
    assert.deepEqual(
      second.signatures.map((each) => headerOf(each).kid === 'a'),
      [true, false],
    )
    await verifyBySdk(second, cli)
  })

  test('refuses a card that names another agent, and writes nothing', async (t) => {
    const service = await startTestService(t)
    const ownerId = await service.operator.addVerifiedOwner()
    const [cli, other] = [
      await certifiedCli(t, service, ownerId),
      await certifiedCli(t, service, await service.operator.addVerifiedOwner()),
    ]
    const uri = `${service.url}/a2a/identity/v1`
    const output = join(cli.home, 'signed.json')
    const refusesToSign = async (did: string) => {
      const path = writeCard(cli, cardOf(uri, did))
      const refused = await cli.run('sign-card', path, '-o', output, '--json')
      assert.deepEqual([refused.code, refused.stdout], [4, ''], did)
      assert.equal(errorIn(refused).code, 'ANOTHER_AGENT')
      assert.throws(() => readFileSync(output), { code: 'ENOENT' })
    }
    await refusesToSign(other.did)
    await refusesToSign(`svc:agent:${'7'.repeat(24)}`)
    await refusesToSign(cli.did.replace('svc:', 'acme:'))
    await changeStatus(service, cli.did, 'revoke')
    await refusesToSign(cli.did)
  })

  test('refuses what is no card, or names nobody', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const uri = 'https://id.example/a2a/identity/v1'
    const did = `svc:agent:${'7'.repeat(24)}`
    for (const [text, words] of [
      ['', /is not a JSON object/],
      ['[]', /is not a JSON object/],
      ['null', /is not a JSON object/],
      [cardOf('https://id.example/other', did), /has no identity extension.*\/a2a\/identity\/v1/],
      [cardOf(uri, 'somebody'), /has no identity extension/],
      [cardOf(uri, undefined), /has no identity extension/],
      [
        { ...cardOf(uri, did), capabilities: { extensions: [null] } },
        /is not an A2A 1\.0 agent card/,
      ],
    ] as const) {
      const refused = await cli.run('sign-card', writeCard(cli, text), '--json')
      assert.deepEqual([refused.code, refused.stdout], [2, ''])
      assert.equal(errorIn(refused).code, 'USAGE')
      assert.match(errorIn(refused).message, words)
    }
    const missing = await cli.run('sign-card', join(cli.home, 'nowhere.json'))
    assert.equal(missing.code, 2)
    writeFileSync(join(cli.home, 'latin1.json'), Buffer.from('{"name":"caf\xe9"}', 'latin1'))
    const latin1 = await cli.run('sign-card', join(cli.home, 'latin1.json'))
    assert.deepEqual([latin1.code, latin1.stdout], [2, ''])
    assert.match(latin1.stderr, /cannot be read as UTF-8/)
  })
})
