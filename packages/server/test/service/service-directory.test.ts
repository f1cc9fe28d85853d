import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type KeySet, keyThumbprint } from '@countersign/protocol'
import { httpbis } from 'http-message-signatures'
import { ask } from '../../../../test/support/ask.ts'
import { copyIssuerKeys } from '../../../../test/support/copy-issuer-keys.ts'
import { textOfTables } from '../../../../test/support/raw-database.ts'
import { sendRaw } from '../../../../test/support/raw-http.ts'
import {
  countersignd,
  openOperator,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'
import { OtherServiceKeyError, openServiceKey } from '../../src/secrets/service-keys.ts'

const DIRECTORY = '/.well-known/http-message-signatures-directory'

type Key = KeySet['keys'][number]

/** Verifies a directory with an implementation that is not ours. */
function isSigned(key: Key, url: string, headers: Headers): Promise<boolean | null> {
  const publicKey = createPublicKey({ key, format: 'jwk' })
  return httpbis.verifyMessage(
    {
      all: true,
      requiredParams: ['created', 'expires', 'keyid', 'tag'],
      requiredFields: ['@authority'],
      maxAge: 60,
      keyLookup: async ({ keyid, tag }) =>
        keyid === key.kid && tag === 'http-message-signatures-directory'
          ? {
              id: keyid,
              algs: ['ed25519'],
              verify: async (data, signature) => verify(null, data, publicKey, signature),
            }
          : null,
    },
    { status: 200, headers: Object.fromEntries(headers) },
    { method: 'GET', url, headers: {} },
  )
}

test('the service publishes its own key, in a response that the key signs', async (t) => {
  const service = await startTestService(t)
  const answer = await ask(service, DIRECTORY)
  assert.equal(
    answer.headers.get('content-type'),
    'application/http-message-signatures-directory+json',
  )
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=60')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /Signature-Input/)
  const { keys } = JSON.parse(answer.text) as KeySet
  assert.equal(keys.length, 1)
  const [key] = keys as [Key]
  assert.equal(key.kid, keyThumbprint(Buffer.from(key.x, 'base64url')))
  assert.equal(await isSigned(key, service.url + DIRECTORY, answer.headers), true)
  const elsewhere = isSigned(key, `https://mirror.example${DIRECTORY}`, answer.headers)
  assert.notEqual(await elsewhere.catch(() => false), true)

  const input = answer.headers.get('signature-input') ?? ''
  assert.match(
    input,
    /^sig1=\("@authority";req\);created=\d+;expires=\d+;keyid="[\w-]{43}";tag="http-message-signatures-directory"$/,
  )
  // Anyone can choose the host of a request: the signature stays one for BASE_URL.
  const { answers } = await sendRaw(
    service.url,
    `GET ${DIRECTORY} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
  )
  const [forged] = answers
  assert.notEqual(
    await isSigned(key, `https://evil.example${DIRECTORY}`, forged?.headers as Headers).catch(
      () => false,
    ),
    true,
  )
  const etag = answer.headers.get('etag') as string
  const unchanged = await ask(service, DIRECTORY, { headers: { 'if-none-match': etag } })
  assert.equal(unchanged.status, 304)
  assert.match(unchanged.headers.get('signature') ?? '', /^sig1=:/)
})

test('the key is a file of its user only, the same after a restart, and not in the database', async (t) => {
  const first = await startTestService(t)
  const kid = async (url: string) =>
    ((await (await fetch(url + DIRECTORY)).json()) as KeySet).keys[0]?.kid
  const before = await kid(first.url)
  const file = join(first.env.DATA_DIR as string, 'directory-key')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const seed = readFileSync(file, 'utf8').trim()
  const text = await textOfTables(first.settings)
  assert.ok(!text.includes(seed) && !text.includes(Buffer.from(seed, 'hex').toString('latin1')))
  await first.stop()
  const again = await startTestService(t, first.env)
  assert.equal(await kid(again.url), before)
})

test('a node without the key or with another refuses to start and says what to do', async (t) => {
  const first = await startTestService(t)
  await first.stop()
  const { database } = first.settings
  const dataDir = tempDir(t)
  const env = {
    ...first.env,
    DATA_DIR: dataDir,
    DATABASE_URL: database.kind === 'postgres' ? database.url : `sqlite:${database.file}`,
  }
  const file = (dir: string, name: string) => join(dir, name)
  for (const name of ['identity-pepper', 'webhook-key', 'log-key', 'a2a-key'])
    copyFileSync(file(first.settings.dataDir, name), file(dataDir, name))
  copyIssuerKeys(first.settings.dataDir, dataDir)

  await assert.rejects(startTestService(t, env), /directory-key is missing .* Copy that file/)
  assert.equal(existsSync(file(dataDir, 'directory-key')), false, 'no other key is made')
  const examined = await countersignd(env, 'doctor')
  assert.match(examined.stdout, /fail +service keys: directory-key is missing/)

  copyFileSync(file(dataDir, 'identity-pepper'), file(dataDir, 'directory-key'))
  const refused = await countersignd(env, 'serve')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /directory-key is not the one that the database knows/)

  assert.equal((await countersignd(env, 'accept-service-key', 'pepper')).code, 2)
  assert.equal((await countersignd(env, 'accept-service-key', 'directory')).code, 0)
  await (await startTestService(t, env)).stop()
  renameSync(file(dataDir, 'directory-key'), file(first.settings.dataDir, 'directory-key'))
  assert.match((await countersignd(first.env, 'doctor')).stdout, /ok +service keys/)
})

const bothIn = (dir: string) => ({ keysDir: dir, dataDir: dir })

test('of two nodes that make the key at the same time, one wins and the other is refused', async (t) => {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const { db } = operator
  const dirs = [tempDir(t), tempDir(t)]
  const opened = await Promise.allSettled(
    dirs.map((dir) => openServiceKey({ db, folders: bothIn(dir) }, 'directory')),
  )
  const reasons = opened.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  assert.equal(reasons.length, 1)
  assert.ok(reasons[0] instanceof OtherServiceKeyError)

  const shared = tempDir(t)
  const other = await openOperator(readSettings(await testEnv(t)))
  t.after(() => other.close())
  const parts = { db: other.db, folders: bothIn(shared) }
  const [one, two] = await Promise.all([
    openServiceKey(parts, 'directory'),
    openServiceKey(parts, 'directory'),
  ])
  assert.deepEqual(one.publicKey, two.publicKey)
})
