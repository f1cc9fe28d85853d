import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { type Lookup, namingFor } from '@countersign/protocol'
import type { ConformanceReport } from '../../packages/cli/src/conformance/conformance.ts'
import { certifiedCli, cliFor, errorIn } from '../../packages/cli/test/support/cli.ts'
import { issueTokens } from '../../packages/server/src/agents/claims/issue-token.ts'
import { freePort } from '../support/ports.ts'
import { openOperator, startTestService, type TestService } from '../support/service.ts'

/** Unused tokens of one batch. */
async function tokenBatch(service: TestService, count: number): Promise<readonly string[]> {
  const { db, addVerifiedOwner } = service.operator
  const { naming } = service.settings
  const ownerId = await addVerifiedOwner()
  return (await issueTokens({ db, naming, now: Date.now, randomBytes }, ownerId, count)).claimTokens
}

async function expiredToken(service: TestService): Promise<string> {
  const operator = await openOperator(service.settings, () => Date.now() - 11 * 60_000)
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  await operator.close()
  return token
}

suite('countersign conformance against this service', () => {
  test('without a token, it reads, lists what it skipped, and changes nothing', async (t) => {
    const service = await startTestService(t)
    const { did } = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
    const cli = cliFor(t)

    const { code, stdout, stderr } = await cli.run('conformance', service.url, '--agent', did)

    assert.deepEqual([code, stderr], [0, ''], stdout)
    assert.match(stdout, / 0 failed, \d+ skipped\. No promise is broken\./)
    assert.match(stdout, /4\.4 +skip +A valid claim mints a DID.*\n +skipped: needs --claim-token/)
    const report = await cli.json<ConformanceReport>('conformance', service.url, '--no-vectors')
    assert.deepEqual([report.conforms, report.left], [true, []])
    assert.ok(report.checks.every(({ check }) => !check.startsWith('vectors/')))
  })

  for (const names of [{}, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' }]) {
    const { shortName, idHeader } = namingFor(names.SHORT_NAME, names.ID_HEADER)
    test(`with tokens, it claims, verifies, resolves and renounces: ${shortName}`, async (t) => {
      const service = await startTestService(t, names)
      const tokens = await tokenBatch(service, 3)
      const given = tokens.flatMap((token) => ['--claim-token', token])
      const expired = ['--expired-claim-token', await expiredToken(service)]
      const cli = cliFor(t)

      const args = ['conformance', service.url, ...given, ...expired, '--json']
      const { code, stdout, stderr } = await cli.run(...args)

      const report = JSON.parse(stdout) as ConformanceReport
      const failed = report.checks.filter(({ outcome }) => outcome === 'fail')
      assert.deepEqual(failed, [])
      assert.deepEqual([report.shortName, report.idHeader], [shortName, idHeader])
      const skipped = report.checks.filter(({ outcome }) => outcome === 'skip')
      // Renounced agents are revoked after 72 hours only, so their pairs cannot be claimed again in this run.
      assert.deepEqual(skipped.map(({ section }) => section).toSorted(), ['-', '3.1'])
      assert.deepEqual(report.left, [])
      assert.equal(code, 0)
      const claimed = stderr.match(new RegExp(`${shortName}:agent:\\w{24}`, 'g'))
      assert.equal(claimed?.length, 2)
      for (const did of claimed ?? []) {
        const lookup = await cli.json<Lookup>('lookup', did, '--url', service.url)
        assert.equal(lookup.certificate.status, 'suspended')
      }
    })
  }

  test('wrong arguments and a deployment that does not answer', async (t) => {
    const cli = cliFor(t)
    const nobody = `http://127.0.0.1:${await freePort()}`
    for (const [args, code, error] of [
      [['not a url'], 2, 'USAGE'],
      [[`${nobody}/path`], 2, 'USAGE'],
      [[nobody, '--agent', 'x'], 2, 'USAGE'],
      [[nobody, '--claim-token', 'x'], 2, 'USAGE'],
      [[nobody], 5, 'UNREACHABLE'],
    ] as const) {
      const result = await cli.run('conformance', ...args, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [code, error], args.join(' '))
    }
  })
})
