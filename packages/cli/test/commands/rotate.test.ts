import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { before, test } from 'node:test'
import { jsonOf } from '../../../../test/support/answer.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { signInBy } from '../../../../test/support/sign-in-by.ts'
import { certifiedCli, cliFor, errorIn } from '../support/cli.ts'

const cleanup = fileCleanup()
let service: TestService
let delayed: TestService

before(async () => {
  service = await startTestService(cleanup, { RECOVERY_DELAY: '0' })
  delayed = await startTestService(cleanup, { SHORT_NAME: 'acme' })
})

async function recoverable(at: TestService) {
  const ownerId = await at.operator.addVerifiedOwner()
  const cli = await certifiedCli(cleanup, at, ownerId)
  const owner = await signInBy(at, ownerId, Date.now)
  const start = async (reason: string) => {
    const answer = await owner.post(`/api/account/agents/${cli.did}/recovery`, { reason })
    assert.equal(answer.status, 201, answer.text)
    return jsonOf(answer).recoveryToken as string
  }
  return { cli, start }
}

test('rotate replaces the key; whoami shows its number', async () => {
  const { cli } = await recoverable(service)
  const { code, stdout, stderr } = await cli.run('rotate')
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Your key is replaced\n/)
  assert.match(stdout, new RegExp(`^ {2}DID +${cli.did}$`, 'm'))
  const self = await cli.json('whoami')
  assert.notEqual(self.publicKey, cli.publicKey)
  assert.deepEqual([self.keySequence, self.recovery], [2, null])
  assert.equal(statSync(`${cli.keyFile}.previous`).mode & 0o777, 0o600)
  const again = await cli.json('rotate', cli.did)
  assert.deepEqual([again.did, again.keySequence], [cli.did, 3])
  const unknown = await cli.run('rotate', 'nonsense', '--json')
  assert.deepEqual([unknown.code, errorIn(unknown).code], [2, 'USAGE'])
})

test('recover redeems a token with a new key, on a machine that has none', async () => {
  const { cli, start } = await recoverable(service)
  const token = await start('key_compromised')
  const fresh = cliFor(cleanup, { COUNTERSIGN_URL: service.url })
  const { code, stdout, stderr } = await fresh.run('recover', cli.did, token)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Your key is replaced\n/)
  const self = await fresh.json('whoami')
  assert.deepEqual([self.verified, self.keySequence], [true, 2])
  const late = await cli.run('whoami', '--json')
  assert.deepEqual([late.code, errorIn(late).code], [3, 'NOT_FOUND'])
})

test('whoami shows a recovery, and veto ends it', async () => {
  const { cli, start } = await recoverable(delayed)
  const token = await start('key_lost')
  const thief = cliFor(cleanup, { COUNTERSIGN_URL: delayed.url })
  const redeemed = await thief.run('recover', cli.did, token)
  assert.equal(redeemed.code, 0, redeemed.stderr)
  assert.match(redeemed.stdout, /^Your new key takes effect later\n/)
  assert.ok(existsSync(`${thief.keyFile}.next`) && !existsSync(thief.keyFile))
  const { stdout } = await cli.run('whoami')
  assert.match(stdout, /^ {2}Recovery +key_lost, takes effect on \d+ \w+ \d{4} at \d\d:\d\d UTC$/m)
  assert.match(stdout, new RegExp(`^ {2}To stop it +countersign veto ${cli.did}$`, 'm'))
  const vetoed = await cli.run('veto', cli.did)
  assert.deepEqual([vetoed.code, vetoed.stderr], [0, ''])
  assert.match(vetoed.stdout, /^The recovery has ended\n/)
  assert.doesNotMatch((await cli.run('whoami')).stdout, /Recovery/)
  const again = await cli.run('veto', cli.did, '--json')
  assert.deepEqual([again.code, errorIn(again).code], [4, 'CONFLICT'])
  const early = await thief.run('recover', cli.did, '--json')
  assert.equal(early.code === 0, false)
})
