import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { logInfo, untilLogged } from '../../../../test/support/log-client.ts'
import { prepareClaims, sendClaims } from '../../../../test/support/many-claims.ts'
import { run } from '../../../../test/support/run.ts'
import { ROOT, startTestService, tempDir } from '../../../../test/support/service.ts'

/** Debian's golang-go and golang-golang-x-mod-dev. */
const GO_ENV = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: '', HOME: '' }

test('Go verifies checkpoint, inclusion and consistency of a log that grows under load', async (t) => {
  const dir = tempDir(t)
  const env = { ...GO_ENV, GOCACHE: dir, HOME: dir }
  const verifier = join(dir, 'log-verify')
  const source = join(ROOT, 'tools/log-verify/main.go')
  const built = await run('go', ['build', '-o', verifier, source], env).catch(() => null)
  if (built === null || built.code !== 0) {
    return t.skip(
      'Go with golang.org/x/mod is not on this machine: golang-go, golang-golang-x-mod-dev',
    )
  }
  const service = await startTestService(t)
  const prefix = `${service.url}/log`
  const claims = await prepareClaims(service.operator, 600)
  let done = 0
  const load = sendClaims(service.url, claims, 16, (_claim, { status }) => {
    assert.equal(status, 200)
    done += 1
  })
  await untilLogged(service, 1)
  const { verifierKey } = await logInfo(service.url)
  const early = join(dir, 'early')
  const verify = async (...args: string[]) => run(verifier, [prefix, verifierKey, ...args])
  writeFileSync(early, await (await fetch(`${prefix}/checkpoint`)).text())
  await load
  assert.equal(done, 600)
  await untilLogged(service, 600)
  const verified = await verify(early)
  assert.equal(verified.code, 0, verified.stderr)
  assert.match(verified.stdout, /^consistent with \d+ entries\nverified 600 entries, root /)

  // The control: the same program refuses another key, a rewritten entry and a checkpoint of another log.
  const otherKey = await run(verifier, [prefix, verifierKey.replace(/.$/, 'A')])
  assert.equal(otherKey.code, 1, otherKey.stdout)
  await service.operator.db.write(async (tx) => {
    const { entry } = await tx.db
      .selectFrom('log_entries')
      .select('entry')
      .where('position', '=', 300)
      .executeTakeFirstOrThrow()
    await tx.db
      .updateTable('log_entries')
      .set({ entry: entry.replace('claimed', 'CLAIMED') })
      .where('position', '=', 300)
      .execute()
  })
  const rewritten = await verify()
  assert.equal(rewritten.code, 1)
  assert.match(rewritten.stderr, /entry 300 is not the one that was hashed/)
})
