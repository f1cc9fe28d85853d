import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { verifyCommands } from '../packages/server/src/pages/certificate-commands.ts'
import { DocPage } from './support/doc-page.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { claimAgent, ROOT, run, startTestService, tempDir } from './support/service.ts'
import { allOf, needs } from './support/tools.ts'

const PAGE = new DocPage('docs/certificates.md', import.meta.filename)
const SHELL = PAGE.take('Verify a certificate', 'sh')
const JOSE = PAGE.take('Verify a certificate', 'js')
const PYTHON = PAGE.take('Verify a certificate', 'python')

/** Another Python may come before Debian's in the path. */
const PYTHON3 = ['python3', '/usr/bin/python3'].find(
  (each) => spawnSync(each, ['-c', 'import jwt, cryptography'], { stdio: 'ignore' }).status === 0,
)

const cleanup = fileCleanup()
const t = cleanup
let did: string
let dir: string
let env: Record<string, string>

before(async () => {
  const service = await startTestService(t)
  did = await claimAgent(service, await service.operator.addVerifiedOwner())
  dir = tempDir(t)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  // The commands that the page of a certificate shows name python3.
  if (PYTHON3 !== undefined && PYTHON3 !== 'python3') symlinkSync(PYTHON3, join(dir, 'python3'))
  env = { DID: did, URL: service.url, PATH: `${dir}:${process.env.PATH}` }
})
test('curl downloads a certificate, and openssl verifies it', needs('openssl', 'curl'), () =>
  assertShown('bash', ['-euo', 'pipefail', '-c', SHELL]),
)

test('jose verifies it', needs('openssl', 'curl'), async () => {
  writeFileSync(join(dir, 'verify.mjs'), JOSE)
  await assertShown(process.execPath, ['verify.mjs'])
})

test(
  'PyJWT verifies it, by the commands of a certificate’s page',
  allOf(needs('openssl', 'curl'), withPyJwt()),
  async () => {
    writeFileSync(join(dir, 'verify.py'), PYTHON)
    await assertShown('python3', ['verify.py'])
    const shown = verifyCommands(env.URL as string).find(({ name }) => name.startsWith('PyJWT'))
    await assertShown('bash', ['-euo', 'pipefail', '-c', shown?.commands ?? 'false'])
  },
)

test('every block that the page assigns to this test was run', () => PAGE.assertAllTaken())

async function assertShown(program: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(program, args, env, '', {}, dir)
  assert.equal(code, 0, stderr)
  assert.ok(stdout.includes(did), stdout)
}

function withPyJwt(): { readonly skip: string | false } {
  return { skip: PYTHON3 === undefined && 'missing: PyJWT (Debian: python3-jwt)' }
}
