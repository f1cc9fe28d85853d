import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { newTestRule } from '../../../../test/support/enrolment-rule.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { cliFor, errorIn } from '../support/cli.ts'

suite('enrol', () => {
  test('enrols with the token of a file, renews, and shows no token', async (t) => {
    const service = await startTestService(t)
    const { rule, tokenFor, platform } = await newTestRule(service)
    const cli = cliFor(t)
    const token = await tokenFor(rule.audience)
    const file = join(cli.home, 'token')
    writeFileSync(file, `${token}\n`)
    const args = ['enrol', '--service', service.url, '--rule', rule.id, '--token-file', 'token']
    const keyless = await cli.run(...args, '--json')
    assert.deepEqual([keyless.code, errorIn(keyless).code], [2, 'NO_KEY'])

    const first = await cli.run(...args, '--create-key')
    assert.deepEqual([first.code, first.stderr], [0, ''])
    const [, did = ''] = /^This agent is (svc:agent:\w{24})\n/.exec(first.stdout) ?? []
    assert.match(first.stdout, /^ {2}Agent id +crawler$/m)
    const again = await cli.json('enrol', ...args.slice(1))
    assert.deepEqual([again.did, again.renewed, again.agentId], [did, true, 'crawler'])
    const whoami = await cli.json('whoami', '--url', service.url)
    assert.ok(JSON.stringify(whoami).includes(did))

    const other = await platform.token({ aud: rule.audience, sub: 'another workload' })
    writeFileSync(file, other)
    const refused = await cli.run(...args, '--json')
    assert.deepEqual([refused.code, errorIn(refused).code], [4, 'FORBIDDEN'])
    for (const { stdout, stderr } of [first, refused]) {
      for (const secret of [token, other]) assert.ok(!(stdout + stderr).includes(secret))
    }
  })

  test('runs a command for the token, without a shell and with the audience', async (t) => {
    const service = await startTestService(t)
    const { rule, tokenFor } = await newTestRule(service)
    const cli = cliFor(t, { PATH: process.env.PATH ?? '' })
    const { publicKey } = await cli.json<{ publicKey: string }>('keygen')
    const audience = `${rule.audience}/${keyThumbprint(Buffer.from(publicKey, 'base64'))}`
    writeFileSync(join(cli.home, 'token'), await tokenFor(audience))
    const script = join(cli.home, 'print-token')
    writeFileSync(script, `#!/bin/sh\n[ "$ENROL_AUDIENCE|$1" = "${audience}|;" ] && cat token\n`)
    chmodSync(script, 0o700)
    const args = ['enrol', '--service', service.url, '--rule', rule.id, '--token-command']
    const { code, stderr } = await cli.run(...args, `${script}  ;`)
    assert.equal(code, 0, stderr)

    const leaks = join(cli.home, 'leaks')
    writeFileSync(leaks, '#!/bin/sh\necho secret.secret.secret\necho secret >&2\nexit 3\n')
    chmodSync(leaks, 0o700)
    const failed = await cli.run(...args, leaks, '--json')
    assert.deepEqual([failed.code, errorIn(failed).code], [2, 'NO_PLATFORM_TOKEN'])
    assert.doesNotMatch(failed.stdout + failed.stderr, /secret/)
  })

  test('asks for one source of the token, and for --hold', async (t) => {
    const cli = cliFor(t)
    const args = ['enrol', '--rule', `er_${'z'.repeat(22)}`]
    for (const more of [[], ['--gcp', '--github'], ['--gcp', '--end-on-exit']]) {
      const { code, stderr } = await cli.run(...args, ...more)
      assert.equal(code, 2)
      assert.match(stderr, /source of the token|needs --hold/)
    }
  })
})
