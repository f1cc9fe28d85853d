import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, cliFor } from '../support/cli.ts'
import { startJsonParrot } from '../support/impostor.ts'

const CARD = {
  svcDid: `svc:agent:${'7'.repeat(24)}`,
  displayName: 'Helper',
  username: 'helper',
  description: 'Helps.',
  avatarUrl: 'https://id.example/avatar.svg',
  status: 'active',
  claimedAt: '2026-01-02T03:04:05.000Z',
  owner: null,
  verification: null,
  channels: [
    { kind: 'domain', handleOrDomain: 'helper.example' },
    { kind: 'chat', handleOrDomain: '@helper' },
  ],
  grade: 'C',
  tier: 2,
  gradeIsFallback: false,
  certificateUrl: 'https://id.example/agent/helper',
}

suite('card', () => {
  test('shows the own card, and that of another agent', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner('ada')
    const cli = await certifiedCli(t, service, owner)
    const own = await cli.run('card')
    assert.deepEqual([own.code, own.stderr], [0, ''])
    assert.ok(own.stdout.startsWith(`Agent ${cli.did.slice(-24, -18)}\n\n`))
    for (const line of [
      `  DID          ${cli.did}`,
      '  Status       active',
      '  Grade        C (A is best, E is lowest)',
      '  Owner        Owner ada (ada), self-declared name',
      '  Reached at   no verified channel',
      `  Certificate  ${service.url}/agent/${cli.did}`,
    ]) {
      assert.ok(own.stdout.includes(`${line}\n`), line)
    }
    assert.match(own.stdout, /^ {2}Identity {5}verified by In person, \d+ [A-Z][a-z]+ \d{4}$/m)
    const stranger = cliFor(t, { COUNTERSIGN_URL: service.url })
    assert.equal((await stranger.run('card', cli.did)).stdout, own.stdout)
    const card = await (await fetch(`${service.url}/api/agents/${cli.did}/card`)).json()
    assert.deepEqual(await stranger.json('card', cli.did), card)
    assert.equal((await stranger.run('card', `svc:agent:${'1'.repeat(24)}`)).code, 3)
    assert.equal((await stranger.run('card')).code, 2)
  })

  test('lays every field out, and owns up to what is missing', async (t) => {
    const cli = cliFor(t, { COUNTERSIGN_URL: await startJsonParrot(t, CARD) })
    const { stdout } = await cli.run('card', CARD.svcDid)
    assert.equal(
      stdout,
      `Helper
Helps.

  DID          ${CARD.svcDid}
  Username     helper
  Status       active
  Grade        C (A is best, E is lowest)
  Owner        no profile
  Identity     not verified
  Reached at   helper.example (domain)
               @helper (chat)
  Tier         2: a domain or an agent-to-agent channel
  Claimed      2 January 2026 at 03:04 UTC
  Picture      https://id.example/avatar.svg
  Certificate  https://id.example/agent/helper
`,
    )
  })

  test('lets nothing reach the terminal that it would obey', async (t) => {
    const evil = '\u001b[2J\u0007\u009b31m\u202egnp\n  Status       active\u2028\u007f'
    const card = { ...CARD, displayName: evil, description: evil, status: 'revoked' }
    const channels = [{ kind: evil, handleOrDomain: evil }]
    const owner = { displayName: evil, username: evil }
    const verification = { provider: evil, label: evil, verifiedAt: CARD.claimedAt }
    const body = { ...card, channels, owner, verification, username: evil }
    const cli = cliFor(t, { COUNTERSIGN_URL: await startJsonParrot(t, body) })
    const people = await cli.run('card', CARD.svcDid)
    assert.equal(people.code, 0)
    assert.doesNotMatch(people.stdout, /[^\P{Cc}\n]|[\u2028\p{Bidi_Control}]/u)
    assert.ok(people.stdout.startsWith('\\u001b[2J\\u0007\\u009b31m\\u202egnp\\u000a'))
    assert.equal(people.stdout.match(/^ {2}Status/gm)?.length, 1)
    const program = await cli.run('card', CARD.svcDid, '--json')
    assert.doesNotMatch(program.stdout, /[^\P{Cc}\n]|[\u2028\p{Bidi_Control}]/u)
    assert.deepEqual(JSON.parse(program.stdout), body)
  })

  test('colours only where asked, and never with NO_COLOR', async (t) => {
    const url = await startJsonParrot(t, CARD)
    const forced = cliFor(t, { COUNTERSIGN_URL: url, FORCE_COLOR: '1' })
    assert.ok(
      (await forced.run('card', CARD.svcDid)).stdout.startsWith('\u001b[1mHelper\u001b[22m'),
    )
    const plain = cliFor(t, { COUNTERSIGN_URL: url, NO_COLOR: '1' })
    assert.ok((await plain.run('card', CARD.svcDid)).stdout.startsWith('Helper\n'))
  })
})
