import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { evidenceBy } from '../../../../test/support/reports.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { cliFor, errorIn } from '../support/cli.ts'

test('a site reports an agent with a signed request, and reads the answer with the token', async (t) => {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const cli = cliFor(t)
  const evidence = await evidenceBy(service, { did, key })
  writeFileSync(join(cli.home, 'request.json'), JSON.stringify(evidence))
  const about = ['report', '--url', service.url, '--agent', did, '--category', 'rate']
  const rest = ['--text', 'Too fast.', '--evidence', 'request.json']
  const first = await cli.run(...about, ...rest, '--json')
  assert.equal(first.code, 0, first.stderr)
  const sent = JSON.parse(first.stdout) as { id: string; token: string }
  const again = await cli.run(...about, ...rest, '--json')
  assert.equal(errorIn(again).code, 'CONFLICT')

  const path = `/api/account/agents/${did}/reports/${sent.id}/answer`
  assert.equal((await owner.post(path, { text: 'Fixed.\u001b[31m' })).status, 400)
  assert.equal((await owner.post(path, { text: 'Fixed.' })).status, 204)
  const status = ['report', '--url', service.url, '--status', sent.id]
  const without = await cli.run(...status, '--json')
  assert.deepEqual([without.code, errorIn(without).code], [2, 'USAGE'])
  const known = cliFor(t, { COUNTERSIGN_REPORT_TOKEN: sent.token })
  const shown = await known.run(...status)
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /answered/)
  assert.match(shown.stdout, /Fixed\./)
})

test('a report without a part of it is refused before anything is sent', async (t) => {
  const cli = cliFor(t)
  writeFileSync(join(cli.home, 'no-json'), 'GET / HTTP/1.1')
  const about = ['report', '--agent', `svc:agent:${'A'.repeat(24)}`, '--text', 'x']
  for (const args of [
    about,
    [...about, '--category', 'speed', '--evidence', 'no-json'],
    [...about, '--category', 'rate', '--evidence', 'no-json'],
    [...about, '--category', 'rate', '--evidence', 'missing'],
  ]) {
    const refused = await cli.run(...args, '--json')
    assert.deepEqual([refused.code, errorIn(refused).code], [2, 'USAGE'], args.join(' '))
  }
})
