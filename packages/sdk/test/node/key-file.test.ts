import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT, run, tempDir } from '../../../../test/support/service.ts'
import { newKey } from '../../src/keys/keys.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { keyFromEnvironment, keyFromFile, writeKeyFile } from '../../src/node/key-file.ts'
import { failsWith } from '../support/fails.ts'

const COUNTERSIGN = join(ROOT, 'packages/cli/bin/countersign.mjs')
const publicKeyOf = ({ publicKey }: Signer) => Buffer.from(publicKey).toString('base64')
const modeOf = (path: string) => statSync(path).mode & 0o777

/** Sets an environment variable for the length of a test. */
function setEnv(t: TestContext, name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  t.after(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}

test('a key is made where there is none, for its owner alone, and is the same the next time', async (t) => {
  const path = join(tempDir(t), 'new/agent.pem')
  await failsWith('NO_KEY', keyFromFile(path))
  const first = await keyFromFile(path, { create: true })
  assert.equal(modeOf(path), 0o600)
  assert.equal(modeOf(join(path, '..')), 0o700)
  assert.deepEqual(readdirSync(join(path, '..')), ['agent.pem'], 'and nothing beside it')
  assert.equal(publicKeyOf(await keyFromFile(path, { create: true })), publicKeyOf(first))
  assert.equal(publicKeyOf(await keyFromFile(path)), publicKeyOf(first))
})

test('of twenty who make a key at the same moment, all load the same one', async (t) => {
  const path = join(tempDir(t), 'agent.pem')
  const signers = await Promise.all(
    Array.from({ length: 20 }, () => keyFromFile(path, { create: true })),
  )
  assert.equal(new Set(signers.map(publicKeyOf)).size, 1)
  assert.deepEqual(readdirSync(join(path, '..')), ['agent.pem'])
})

test('a key that is there is never overwritten', async (t) => {
  const path = join(tempDir(t), 'agent.pem')
  const { pem } = await newKey()
  await writeKeyFile(path, pem)
  await failsWith('KEY_EXISTS', writeKeyFile(path, (await newKey()).pem))
  assert.equal(readFileSync(path, 'utf8'), pem)
  writeFileSync(path, 'not a key')
  await failsWith('UNUSABLE_KEY', keyFromFile(path, { create: true }))
  assert.equal(readFileSync(path, 'utf8'), 'not a key')
  const elsewhere = join(tempDir(t), 'agent.pem')
  await failsWith('UNUSABLE_KEY', writeKeyFile(elsewhere, 'not a key'))
  await failsWith('NO_KEY', keyFromFile(elsewhere))
})

test('the command and the SDK share one key, whichever of them has made it', async (t) => {
  const home = tempDir(t)
  const command = async (...args: string[]) => {
    const args_ = [COUNTERSIGN, '--json', ...args]
    const { code, stdout, stderr } = await run(process.execPath, args_, { HOME: home })
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const { publicKey } = await command('keygen')
  setEnv(t, 'HOME', home)
  assert.equal(publicKeyOf(await keyFromFile()), publicKey)

  const ours = join(home, 'ours.pem')
  const signer = await keyFromFile(ours, { create: true })
  const signed = await command('sign', '--unbound', '--key', ours, 'hello')
  assert.equal(signed.publicKey, publicKeyOf(signer))
  const signature = await signer.sign(Buffer.from('hello'))
  assert.equal(signed.signature, Buffer.from(signature).toString('base64'))
  setEnv(t, 'COUNTERSIGN_KEY', ours)
  assert.equal(publicKeyOf(await keyFromFile()), publicKeyOf(signer))
})

test('a key that others may have read is told of', async (t) => {
  const path = join(tempDir(t), 'agent.pem')
  await keyFromFile(path, { create: true })
  chmodSync(path, 0o644)
  const emitWarning = t.mock.method(process, 'emitWarning', () => undefined)
  await keyFromFile(path)
  assert.deepEqual(emitWarning.mock.calls[0]?.arguments[1], { code: 'COUNTERSIGN_KEY_EXPOSED' })
})

test('what is wrong with a path is not taken for a missing key', async (t) => {
  const path = join(tempDir(t), 'directory')
  mkdirSync(path)
  await assert.rejects(keyFromFile(path, { create: true }), { code: 'EISDIR' })
})

test('a key comes out of an environment variable, as PEM or as JWK', async (t) => {
  const key = await newKey()
  await failsWith('NO_KEY', keyFromEnvironment('COUNTERSIGN_TEST_KEY'))
  for (const text of [key.pem, key.pem.replaceAll('\n', '\\n'), JSON.stringify(key.jwk)]) {
    setEnv(t, 'COUNTERSIGN_TEST_KEY', text)
    assert.equal(publicKeyOf(await keyFromEnvironment('COUNTERSIGN_TEST_KEY')), publicKeyOf(key))
  }
  setEnv(t, 'COUNTERSIGN_TEST_KEY', 'nonsense')
  await failsWith('UNUSABLE_KEY', keyFromEnvironment('COUNTERSIGN_TEST_KEY'))
})

test('a key file that others can read is reported to the caller who asks for it', async (t) => {
  const path = join(tempDir(t), 'agent.pem')
  await keyFromFile(path, { create: true })
  const reported: string[] = []
  const onExposed = (exposed: string) => void reported.push(exposed)
  await keyFromFile(path, { onExposed })
  chmodSync(path, 0o644)
  await keyFromFile(path, { onExposed })
  assert.deepEqual(reported, [path])
})

test('a key file is replaced as a whole, and only on request', async (t) => {
  const path = join(tempDir(t), 'agent.pem')
  const first = await keyFromFile(path, { create: true })
  const { pem, publicKey } = await newKey()
  await writeKeyFile(path, `Key Attributes: none\n${pem}`, { replace: true })
  assert.equal(publicKeyOf(await keyFromFile(path)), publicKeyOf({ ...first, publicKey }))
  assert.equal(readFileSync(path, 'utf8'), pem, 'in the form that openssl writes')
  assert.equal(modeOf(path), 0o600)
  assert.deepEqual(readdirSync(join(path, '..')), ['agent.pem'])
})
