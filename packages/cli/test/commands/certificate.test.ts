import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startSite } from '../../../../test/support/impostor.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'

const service = await startTestService({ after })

test('certificate get and verify: of the own agent, of another, with files and without a network', async (t) => {
  const owner = await service.operator.addVerifiedOwner()
  const cli = await certifiedCli(t, service, owner)
  // Until the log has the key, the next certificate may be another one, which names the entry.
  await untilLogged(service, 1)
  const own = await cli.run('certificate', 'get')
  assert.equal(own.code, 0, own.stderr)
  const token = own.stdout.trim()
  assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.equal((await cli.run('certificate', 'get', cli.did)).stdout, own.stdout)
  assert.deepEqual(await cli.json('certificate', 'get'), { certificate: token })

  const people = await cli.runWithInput(own.stdout, 'certificate', 'verify', '-')
  assert.equal(people.code, 0, people.stderr)
  assert.match(people.stdout, new RegExp(`^The certificate of ${cli.did} is valid\n`))
  const file = join(cli.home, 'agent.jwt')
  writeFileSync(file, `${token}\n`)
  const verified = await cli.json('certificate', 'verify', file)
  assert.deepEqual([verified.did, verified.issuer], [cli.did, service.url])
  assert.equal(verified.publicKey, cli.publicKey)

  const { uri } = verified.statusList as { uri: string }
  for (const [name, url] of [
    ['jwks.json', `${service.url}/.well-known/jwks.json`],
    ['list.jwt', uri],
  ] as const) {
    writeFileSync(join(cli.home, name), await (await fetch(url)).text())
  }
  const files = ['--jwks', 'jwks.json', '--status-list', 'list.jwt']
  assert.equal((await cli.run('certificate', 'verify', file, ...files)).code, 0)
})

test('certificate verify refuses with 4, and exits with 5 where it cannot tell', async (t) => {
  const owner = await service.operator.addVerifiedOwner()
  const cli = await certifiedCli(t, service, owner)
  const { certificate } = await cli.json<{ certificate: string }>('certificate', 'get')
  const verify = (text: string, ...args: string[]) =>
    cli.runWithInput(text, 'certificate', 'verify', '-', '--json', ...args)
  const forged = await verify(`${certificate.slice(0, -10)}AAAAAAAAAA`)
  assert.deepEqual([forged.code, errorIn(forged).code], [4, 'INVALID_TOKEN'])
  writeFileSync(join(cli.home, 'none.json'), '{"keys":[]}')
  const unknown = await verify(certificate, '--jwks', 'none.json')
  assert.deepEqual([unknown.code, errorIn(unknown).code], [4, 'INVALID_TOKEN'])
  writeFileSync(join(cli.home, 'wrong.json'), 'x')
  assert.equal((await verify(certificate, '--jwks', 'wrong.json')).code, 2)
  const elsewhere = cliFor(t, { COUNTERSIGN_URL: 'http://localhost:1' })
  assert.equal((await elsewhere.runWithInput(certificate, 'certificate', 'verify', '-')).code, 4)
  await changeStatus(service, cli.did, 'revoke')
  const refused = await cli.run('certificate', 'get', cli.did, '--json')
  assert.deepEqual([refused.code, errorIn(refused).code], [4, 'AGENT_NOT_ACTIVE'])
})

test('fetch --certificate sends both tokens, covered by the signature', async (t) => {
  const owner = await service.operator.addVerifiedOwner()
  const cli = await certifiedCli(t, service, owner)
  const seen: Record<string, unknown>[] = []
  const site = await startSite(t, (request, response) => {
    seen.push(request.headers)
    response.end('done')
  })
  for (const args of [['--certificate'], []]) {
    const { code, stderr } = await cli.run('fetch', site, ...args)
    assert.equal(code, 0, stderr)
  }
  const [withTokens = {}, without = {}] = seen
  for (const name of ['serviceid-certificate', 'serviceid-status']) {
    assert.ok(String(withTokens['signature-input']).includes(`"${name}"`), name)
    assert.match(String(withTokens[name]), /^[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.equal(without[name], undefined)
  }
})
