import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/ports.ts'
import { ROOT, run, startTestService, tempDir } from '../../../test/support/service.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'

const DID = /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}/

/** A project that has installed the SDK, whose addresses are those of a test. */
function project(t: TestContext, addresses: Readonly<Record<string, string>>): string {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/sdk'), join(dir, 'node_modules/@countersign/sdk'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  for (const [name, code] of snippetsOf(join(ROOT, 'packages/sdk/README.md'))) {
    const placed = Object.entries(addresses).reduce(
      (text, [address, here]) => text.replaceAll(address, here),
      code,
    )
    writeFileSync(join(dir, name), placed)
  }
  return dir
}

test('every snippet of the README runs, and does what the README says', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const port = await freePort()
  const shop = `http://127.0.0.1:${port}`
  const dir = project(t, { 'https://id.example': service.url, 'https://shop.example': shop })
  const env = { HOME: dir, PORT: String(port), SESSION_SECRET: 's'.repeat(32) }
  const ran = new Set<string>()
  const node = async (file: string, more: Readonly<Record<string, string>> = {}) => {
    ran.add(file)
    const { code, stdout, stderr } = await run(
      'sh',
      ['-c', 'cd "$1" && exec "$2" "$3"', 'sh', dir, process.execPath, file],
      { ...env, ...more },
    )
    assert.equal(code, 0, `${file}: ${stderr}`)
    assert.equal(stderr, '', file)
    return stdout.trim().split('\n')
  }

  const [did = ''] = await node('claim.ts', {
    CLAIM_TOKEN: await service.operator.issueToken(owner),
  })
  assert.match(did, DID)
  assert.deepEqual(await node('keys.ts'), ['five times the same key'])
  assert.match((await node('kms.ts')).join(), /^[A-Za-z0-9+/]{43}=$/)

  ran.add('site.ts')
  const site = spawn(process.execPath, ['site.ts'], { cwd: dir, env: { ...process.env, ...env } })
  t.after(() => site.kill())
  while (!(await fetch(shop).catch(() => null))) await sleep(25)
  assert.equal(await (await fetch(shop)).text(), 'Sign in at /agent-sign-in')
  const [who, welcome] = await node('visit.ts')
  assert.match(who ?? '', new RegExp(`^${did} Agent .{6} C$`))
  assert.equal(welcome, `Welcome, ${did}`)

  assert.deepEqual(await node('verify.ts'), ['unsigned', '401'])
  const [challenge = ''] = await node('redis.ts')
  assert.ok(challenge.startsWith(`svc-challenge-v1:${shop}:`))
  const [known, unknown, grade] = await node('decide.ts', { DID: did })
  assert.deepEqual([known, unknown], ['full', 'deny'])
  assert.match(grade ?? '', /^C Verify .* true$/)
  const all = snippetsOf(join(ROOT, 'packages/sdk/README.md')).keys()
  assert.deepEqual([...ran].sort(), [...all].sort())
})

test('"sign in as an agent" takes a site ten lines', () => {
  const site = snippetsOf(join(ROOT, 'packages/sdk/README.md')).get('site.ts') ?? ''
  const lines = site.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('import'))
  assert.ok(lines.filter((line) => !/^(\/\/|})/.test(line)).length <= 10, site)
})

test('what the README says of the package is so', () => {
  const read = (path: string) => readFileSync(join(ROOT, 'packages/sdk', path), 'utf8')
  const { dependencies } = JSON.parse(read('package.json'))
  for (const name of Object.keys(dependencies)) assert.ok(read('README.md').includes(`\`${name}\``))
  assert.ok(Object.keys(dependencies).length <= 2)
})
