import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type CertifiedCli, COUNTERSIGN, certifiedCli } from '../packages/cli/test/support/cli.ts'
import { DocPage } from './support/doc-page.ts'
import { type Admitted, startGuardedSite } from './support/express-gateway.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { ROOT, run, startTestService } from './support/service.ts'
import { allOf, needs } from './support/tools.ts'

const PAGE = new DocPage('docs/signed-requests.md', import.meta.filename)
const [SHELL = '', COMMAND = ''] = PAGE.takeEach('Sign a request', 'sh')
const TYPESCRIPT = PAGE.take('Sign a request', 'js')
const PYTHON = PAGE.take('Sign a request', 'python')

const cleanup = fileCleanup()
const t = cleanup
let cli: CertifiedCli
let site: Awaited<ReturnType<typeof startGuardedSite>>
let env: Record<string, string>

before(async () => {
  const service = await startTestService(t)
  cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
  site = await startGuardedSite(t, service.url)
  copyFileSync(cli.keyFile, join(cli.home, 'key.pem'))
  env = { DID: cli.did, SITE: site.url, COUNTERSIGN_URL: service.url }
})
test('a gateway admits what openssl signs and curl sends', needs('openssl', 'curl'), async () => {
  await assertAdmitted('bash', ['-euo', 'pipefail', '-c', SHELL])
})

test(
  'a gateway admits what Python signs',
  allOf(needs('python3'), withCryptography()),
  async () => {
    writeFileSync(join(cli.home, 'sign.py'), PYTHON)
    await assertAdmitted('python3', ['sign.py'])
  },
)

test('a gateway admits what the SDK signs, which asks for its DID by itself', async () => {
  symlinkSync(join(ROOT, 'node_modules'), join(cli.home, 'node_modules'))
  writeFileSync(join(cli.home, 'sign.mjs'), TYPESCRIPT)
  await assertAdmitted(process.execPath, ['sign.mjs'])
})

test('a gateway admits what the command signs', async () => {
  // npx would take the package from the service.
  const command = /^npx -y \S+\.tgz (fetch .*)$/s.exec(COMMAND)?.[1] ?? assert.fail(COMMAND)
  const program = `"${process.execPath}" "${COUNTERSIGN}" ${command}`
  await assertAdmitted('bash', ['-euo', 'pipefail', '-c', program])
})

test('every block that the page assigns to this test was run', () => PAGE.assertAllTaken())

async function assertAdmitted(program: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(program, args, env, '', {}, cli.home)
  assert.equal(code, 0, stderr)
  const { method, url, body, headers }: Admitted = JSON.parse(stdout)
  assert.deepEqual([method, url, body], ['POST', '/orders?draft=1', '{"item":1}'])
  assert.equal(headers['x-serviceid-did'], cli.did)
  assert.equal(headers['x-serviceid-proof'], 'signature')
}

function withCryptography(): { readonly skip: string | false } {
  const { status } = spawnSync('python3', ['-c', 'import cryptography'], { stdio: 'ignore' })
  return { skip: status !== 0 && 'missing: cryptography (Debian: python3-cryptography)' }
}
