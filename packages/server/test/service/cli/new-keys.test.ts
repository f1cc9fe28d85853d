import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { issuerKeyFilesIn, newKeys } from '../../../../../test/support/copy-issuer-keys.ts'
import { countersignd, tempDir, testEnv } from '../../../../../test/support/service.ts'
import { isSharedSecret, SHARED_SECRETS } from '../../../src/secrets/secret-files.ts'

test('new-keys makes all keys that nodes share, and replaces none', async (t) => {
  const made = await newKeys(t)
  const names = readdirSync(made)
  assert.deepEqual(
    names.map((name) => name.replace(/^issuer-key-.*/, 'issuer-key-*')).toSorted(),
    SHARED_SECRETS.toSorted(),
  )
  assert.ok(names.every(isSharedSecret))
  assert.equal(statSync(made).mode & 0o777, 0o700)
  const contents = names.map((name) => readFileSync(join(made, name), 'utf8'))
  assert.equal(new Set(contents).size, names.length)
  for (const name of names) assert.equal(statSync(join(made, name)).mode & 0o777, 0o600, name)

  for (const name of names.slice(1)) rmSync(join(made, name))
  const again = await countersignd({}, 'new-keys', made)
  assert.equal(again.code, 1)
  assert.ok(again.stderr.includes(`${made} has ${names[0]}. Nothing was changed`), again.stderr)
  assert.deepEqual(readdirSync(made), names.slice(0, 1))
  assert.equal(readFileSync(join(made, names[0] as string), 'utf8'), contents[0])
})

test('a KEYS_DIR that is not there makes no second set of keys', async (t) => {
  const env = await testEnv(t, { KEYS_DIR: join(tempDir(t), 'missing') })
  const served = await countersignd(env, 'serve')
  assert.equal(served.code, 2)
  assert.match(served.stderr, /KEYS_DIR must be a directory that exists/)
  const added = await countersignd(env, 'owner', 'add', 'ada', '--name', 'Ada')
  assert.match(added.stderr, /KEYS_DIR does not exist, and DATA_DIR has no identity-pepper/)
  assert.deepEqual(readdirSync(env.DATA_DIR as string).filter(isSharedSecret), [])
  const { stdout } = await countersignd(env, 'doctor')
  assert.match(stdout, /fail +key files: KEYS_DIR does not exist/)
})

test('the first start takes the one issuer key that is there, and refuses to choose', async (t) => {
  const made = await newKeys(t)
  const second = await newKeys(t)
  const [file] = issuerKeyFilesIn(second) as [string]
  copyFileSync(join(second, file), join(made, file))
  const env = await testEnv(t, { KEYS_DIR: made })
  const several = await countersignd(env, 'serve')
  assert.equal(several.code, 2)
  assert.match(several.stderr, /there are several: issuer-key-.*, issuer-key-.*\. Move all but one/)
  copyFileSync(join(made, 'log-key'), join(second, file))
  const changed = await countersignd(await testEnv(t, { KEYS_DIR: second }), 'serve')
  assert.equal(changed.code, 2)
  assert.match(changed.stderr, /does not hold the key of its name/)
  assert.deepEqual(issuerKeyFilesIn(env.DATA_DIR as string), [])
})
