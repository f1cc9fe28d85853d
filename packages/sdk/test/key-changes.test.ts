import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { keyFromFile, recoverKeyFile, rotateKeyFile, writeKeyFile } from '@countersign/sdk/node'
import { jsonOf } from '../../../test/support/answer.ts'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { startTestService, type TestService, tempDir } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { signInBy } from '../../../test/support/sign-in-by.ts'
import { failsWith } from './support/fails.ts'

const cleanup = fileCleanup()
let service: TestService
let registry: Registry

before(async () => {
  service = await startTestService(cleanup, { RECOVERY_DELAY: '0' })
  registry = new Registry(service.url)
})

/** An agent whose key is in a file, and its owner. */
async function withKeyFile() {
  const path = join(tempDir(cleanup), 'agent.pem')
  const key = await newKey()
  await writeKeyFile(path, key.pem)
  const ownerId = await service.operator.addVerifiedOwner()
  const agent = new Agent({ registry, signer: key })
  const { did } = await agent.claim(await service.operator.issueToken(ownerId))
  const owner = await signInBy(service, ownerId, Date.now)
  const recoveryToken = async (reason: string) => {
    const answer = await owner.post(`/api/account/agents/${did}/recovery`, { reason })
    return jsonOf(answer).recoveryToken as string
  }
  return { path, key, agent, did, recoveryToken }
}

test('an agent replaces its key, continues with the new one, and finds out if the answer was lost', async () => {
  const { agent, key, did } = await withKeyFile()
  const next = await newKey()
  await failsWith('NO_DID', new Agent({ registry, signer: key }).rotateKey(next))
  const rotated = await agent.rotateKey(next)
  const { keyChangedAt } = rotated
  assert.deepEqual(rotated, { did, keySequence: 2, keyChangedAt })
  assert.equal((await agent.whoami()).publicKey, agent.publicKey)
  const { keys, recovery } = await agent.keys()
  assert.deepEqual(
    keys.map(({ sequence, state }) => [sequence, state]),
    [
      [1, 'retired'],
      [2, 'current'],
    ],
  )
  assert.equal(recovery, null)
  // A process that was killed before it got the answer starts again with the old key.
  const restarted = new Agent({ registry, signer: key, did })
  assert.deepEqual(await restarted.rotateKey(next), rotated)
  assert.equal(restarted.publicKey, agent.publicKey)
  const stale = new Agent({ registry, signer: key, did })
  await failsWith('UNUSABLE_KEY', stale.rotateKey(await newKey()))
  await failsWith('KEY_ALREADY_CLAIMED', agent.rotateKey(key))
})

test('an agent recovers with a new key, and vetoes a recovery of a key that is not lost', async () => {
  const { agent, did, recoveryToken } = await withKeyFile()
  await failsWith('CONFLICT', agent.vetoRecovery())
  await recoveryToken('key_lost')
  assert.equal((await agent.keys()).recovery?.reason, 'key_lost')
  assert.deepEqual(await agent.vetoRecovery(), { did, keySequence: 1 })

  const token = await recoveryToken('key_lost')
  const recovered = new Agent({ registry, signer: await newKey(), did })
  await failsWith('INVALID_ARGUMENT', recovered.recover('svc-recover-'))
  const recovering = await recovered.recover(token)
  assert.deepEqual([recovering.did, recovering.keySequence], [did, 2])
  assert.deepEqual(await recovered.recover(token), recovering, 'the answer was lost')
  assert.equal((await recovered.whoami()).publicKey, recovered.publicKey)
})

test('an agent reports its key, also a former one, and of a DID that is revoked', async () => {
  const { agent, key, did } = await withKeyFile()
  await failsWith('NO_DID', new Agent({ registry, signer: key }).reportKey())
  const stranger = new Agent({ registry, signer: await newKey(), did })
  await failsWith('UNUSABLE_KEY', stranger.reportKey())
  const next = await newKey()
  await agent.rotateKey(next)
  const former = new Agent({ registry, signer: key, did })
  const states = async (reported: ReturnType<typeof former.reportKey>) =>
    (await reported).keys.map(({ sequence, state }) => [sequence, state])
  const one = [
    [1, 'compromised'],
    [2, 'current'],
  ]
  assert.deepEqual(await states(former.reportKey()), one)
  assert.deepEqual(await states(former.reportKey()), one, 'again')
  assert.equal((await registry.lookup(did, { fresh: true })).certificate.status, 'active')
  await setStatus(service, did, 'revoked')
  const both = [
    [1, 'compromised'],
    [2, 'compromised'],
  ]
  assert.deepEqual(await states(agent.reportKey()), both)
})

test('a key file is rotated: the new key is on disk before the request, and the former one stays', async () => {
  const { path, key, did } = await withKeyFile()
  const requests: boolean[] = []
  const watched = new Registry(service.url, {
    fetch: (input, init) => {
      requests.push(existsSync(`${path}.next`))
      return fetch(input, init)
    },
  })
  const rotated = await rotateKeyFile({ registry: watched, path })
  assert.deepEqual([rotated.did, rotated.keySequence], [did, 2])
  assert.ok(requests.at(-1))
  assert.equal(existsSync(`${path}.next`), false)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(rotated.previousFile).mode & 0o777, 0o600)
  const [current, former] = [await keyFromFile(path), await keyFromFile(rotated.previousFile)]
  assert.equal((await registry.agent(did, { fresh: true })).publicKey, rotated.publicKey)
  assert.equal(Buffer.from(current.publicKey).toString('base64'), rotated.publicKey)
  assert.deepEqual(former.publicKey, key.publicKey)
})

test('an interrupted rotation of a key file continues with the same new key', async () => {
  const { path, did } = await withKeyFile()
  const sent = { count: 0 }
  const cut = new Registry(service.url, {
    retries: 0,
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      if (init?.method === 'POST') {
        sent.count += 1
        throw new Error('the connection is lost')
      }
      return answer
    },
  })
  await assert.rejects(rotateKeyFile({ registry: cut, path }))
  assert.equal(sent.count, 1)
  const next = readFileSync(`${path}.next`, 'utf8')
  const rotated = await rotateKeyFile({ registry, path })
  assert.deepEqual([rotated.did, rotated.keySequence], [did, 2])
  assert.equal(readFileSync(path, 'utf8'), next)
  assert.equal((await registry.keys(did, { fresh: true })).keys.length, 2)
})

test('a recovery writes the new key beside the key file, and moves it there once it is current', async () => {
  const { path, did, recoveryToken } = await withKeyFile()
  writeFileSync(`${path}.lost`, readFileSync(path))
  chmodSync(`${path}.lost`, 0o600)
  await failsWith('INVALID_ARGUMENT', recoverKeyFile({ registry, path, did }))
  const token = await recoveryToken('key_compromised')
  const recovered = await recoverKeyFile({ registry, path, did, token })
  assert.deepEqual([recovered.keySequence, recovered.keyFile], [2, path])
  const { publicKey } = await keyFromFile(path)
  assert.equal(Buffer.from(publicKey).toString('base64'), recovered.publicKey)
  assert.equal((await registry.lookup(did, { fresh: true })).verified, true)
})
