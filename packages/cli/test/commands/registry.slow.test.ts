import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'
import { startImpostor } from '../support/impostor.ts'

interface Sheet {
  readonly registry: string
  readonly submitAt: string
  readonly requirements: string
  readonly fields: readonly { label: string; value: string | null; hint?: string }[]
}

const valuesOf = ({ fields }: Sheet) =>
  Object.fromEntries(fields.map(({ label, value }) => [label, value]))

test('registry prints submission sheets, filled in from what the service publishes', async (t) => {
  const service = await startTestService(t)
  const cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner('ada'))
  const tail = cli.did.slice(-24)
  const card = `${service.url}/agent/${tail}/client.json`
  const keys = `${service.url}/agent/${tail}/jwks.json`

  const aws = await cli.json<Sheet & object>('registry', 'aws', '--contact', 'bots@agents.example')
  assert.equal(aws.registry, 'aws')
  assert.deepEqual(valuesOf(aws), {
    'Record type': 'WEB_BOT',
    Descriptor: 'signatureAgentCard',
    Name: `Agent ${tail.slice(0, 6)}`,
    Description: null,
    'Public page': `${service.url}/agent/${cli.did}`,
    'Signature agent card': card,
    'JWKS URL': keys,
    Category: null,
    Publisher: null,
    Operator: 'Owner ada (self-declared name)',
    Contact: 'bots@agents.example',
  })
  for (const { value, hint } of aws.fields) assert.ok(value !== null || hint, 'it says what to do')
  for (const url of [card, keys]) assert.equal((await fetch(url)).status, 200)

  const bare = valuesOf(await cli.json<Sheet & object>('registry', 'cloudflare'))
  assert.deepEqual([bare['Key directory'], bare['User agent'], bare.Contact], [null, null, null])
  const args = ['--signature-agent', 'https://agents.example', '--user-agent', 'ShopAgent']
  const people = await cli.run('registry', 'cloudflare', ...args)
  assert.equal(people.code, 0)
  assert.match(people.stderr, /is not https, so registries cannot read it/)
  for (const line of [
    '  Verification method   Request Signature (Web Bot Auth)',
    '  Key directory         https://agents.example/.well-known/http-message-signatures-directory',
    `  Signature agent card  ${card}`,
    '  User agent            ShopAgent',
    '  Contact               (fill in: an address that people read (--contact))',
  ]) {
    assert.ok(people.stdout.includes(`${line}\n`) || people.stdout.endsWith(`${line}\n`), line)
  }

  const listed = await cli.run('registry', 'list')
  assert.match(
    listed.stdout,
    /^ {2}countersign registry aws .+\n {2}countersign registry cloudflare/,
  )
  assert.ok(listed.stdout.endsWith(`\n  ${card}\n`))
  const stranger = cliFor(t, { COUNTERSIGN_URL: service.url })
  assert.equal((await stranger.run('registry', 'list', cli.did)).stdout, listed.stdout)
  assert.equal((await stranger.run('registry', 'list')).code, 2, 'there is no key')
  assert.equal((await cli.run('registry', 'google')).code, 2)
  assert.equal((await cli.run('registry', 'aws', '--user-agent', 'ShopAgent')).code, 2)
  const badOrigin = ['--signature-agent', 'https://agents.example/path']
  assert.equal((await cli.run('registry', 'cloudflare', ...badOrigin)).code, 2)

  await changeStatus(service, cli.did, 'suspend')
  const suspended = await cli.run('--json', 'registry', 'aws')
  assert.deepEqual([suspended.code, errorIn(suspended).code], [4, 'AGENT_NOT_ACTIVE'])
})

test('registry refuses a client metadata document that is not that of the agent', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, ownerId, newKey())
  const answers: Record<string, unknown>[] = []
  const url = await startImpostor(t, async (request, response) => {
    const isDocument = request.url?.endsWith('/client.json')
    const body = isDocument
      ? JSON.stringify(answers.pop())
      : await (await fetch(service.url + request.url)).text()
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  const cli = cliFor(t, { COUNTERSIGN_URL: url })
  const path = `/agent/${did.slice(-24)}/client.json`
  const jwks_uri = 'https://id.example/jwks.json'
  for (const document of [
    {},
    { client_id: `https://id.example/agent/${'1'.repeat(24)}/client.json`, jwks_uri },
    { client_id: path, jwks_uri },
    { client_id: `https://id.example${path}`, jwks_uri: 'none' },
  ]) {
    answers.push(document)
    const refused = await cli.run('--json', 'registry', 'aws', did)
    assert.deepEqual([refused.code, errorIn(refused).code], [1, 'UNEXPECTED_ANSWER'])
  }
  answers.push({ client_id: `https://id.example${path}`, jwks_uri })
  const { code, stderr } = await cli.run('registry', 'aws', did)
  assert.deepEqual([code, stderr], [0, ''])
})
