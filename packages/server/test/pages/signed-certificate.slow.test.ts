import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import {
  claimAgent,
  ROOT,
  run,
  startTestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { needs } from '../../../../test/support/tools.ts'
import { downloadCommand, verifyCommands } from '../../src/pages/certificate-commands.ts'

/** As the page's HTML has a text, without the tags that keep words together. */
function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')
}

test(
  'the certificate page offers the certificate of an active agent, and its commands verify it as printed',
  needs('openssl', 'curl'),
  async (t) => {
    const service = await startTestService(t)
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    const page = async () => (await ask(service, `/agent/${did}`)).text
    const html = await page()
    const path = `/api/v1/agent/${did}/certificate`
    assert.ok(html.includes(`<a href="${path}" download="certificate.jwt"`))

    const dir = tempDir(t)
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
    const shown = textOf(html)
    const bash = (commands: string) =>
      run('bash', ['-euo', 'pipefail', '-c', commands], {}, '', {}, dir)
    const download = downloadCommand(service.url + path)
    assert.ok(shown.includes(download))
    assert.equal((await bash(download)).code, 0)
    for (const { name, commands } of verifyCommands(service.url)) {
      assert.ok(shown.includes(commands), name)
      // jose is installed here already, and PyJWT is verified in test/docs-certificates.slow.test.ts, where it is present.
      if (name.startsWith('PyJWT')) continue
      const { code, stdout, stderr } = await bash(commands.replace(/^npm install.*\n/, ''))
      assert.equal(code, 0, `${name}: ${stderr}`)
      assert.ok(stdout.includes(did), name)
    }
    const forge = `awk -F. '{ printf "%s.%sA.%s", $1, $2, $3 }' certificate.jwt > forged && mv forged certificate.jwt`
    assert.equal((await bash(forge)).code, 0)
    for (const { name, commands } of verifyCommands(service.url)) {
      if (name.startsWith('PyJWT')) continue
      assert.notEqual((await bash(commands.replace(/^npm install.*\n/, ''))).code, 0, name)
    }

    await setStatus(service, did, 'suspended')
    assert.ok(!(await page()).includes('download='), 'a suspended agent has none')
  },
)
