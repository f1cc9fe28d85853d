import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { copyIssuerKeys } from '../../../../test/support/copy-issuer-keys.ts'
import { textOfTables, withRaw } from '../../../../test/support/raw-database.ts'
import {
  countersignd,
  startServiceProcess,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'

/** The environment of a node with its own data directory, but without the pepper, on the database of another node. */
function envOfSecondNode(t: TestContext, { env, settings }: TestService): Record<string, string> {
  const { database } = settings
  const DATABASE_URL = database.kind === 'postgres' ? database.url : `sqlite:${database.file}`
  const DATA_DIR = tempDir(t)
  for (const name of ['directory-key', 'webhook-key', 'log-key', 'a2a-key'])
    copyFileSync(join(settings.dataDir, name), join(DATA_DIR, name))
  copyIssuerKeys(settings.dataDir, DATA_DIR)
  return { ...env, DATABASE_URL, DATA_DIR, PORT: '0' }
}

const pepperOf = (env: Readonly<Record<string, string>>) =>
  join(env.DATA_DIR as string, 'identity-pepper')

test('a node with another identity-pepper refuses to start and says why; with the same one it starts', async (t) => {
  const first = await startTestService(t)
  await first.operator.addVerifiedOwner('ada')
  await first.stop()
  const env = envOfSecondNode(t, first)

  const refused = await countersignd(env, 'serve')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /identity-pepper is not the one/)
  const verified = await countersignd(env, 'owner', 'verify', 'ada', '--provider', 'in-person')
  assert.equal(verified.code, 2, 'verification is refused too')
  assert.equal(
    (await countersignd(env, 'owner', 'list')).code,
    0,
    'commands that need no pepper work',
  )

  copyFileSync(pepperOf(first.env), pepperOf(env))
  const started = await startTestService(t, { ...env, PORT: first.env.PORT as string })
  assert.equal((await fetch(`${started.url}/readyz`)).status, 200)
})

test('accept-pepper makes the new pepper the valid one', async (t) => {
  const first = await startTestService(t)
  await first.operator.addVerifiedOwner()
  await first.stop()
  const env = envOfSecondNode(t, first)
  assert.equal((await countersignd(env, 'accept-pepper')).code, 0)
  const { PORT } = first.env as { PORT: string }
  const node = await startServiceProcess(t, { ...env, PORT })
  assert.equal(await node.stop(), 0)
  assert.equal((await countersignd({ ...first.env, ...portOf(env) }, 'serve')).code, 2)
})

test('without a stored digest, the verifications show which pepper is valid', async (t) => {
  const first = await startTestService(t)
  await first.operator.addVerifiedOwner()
  await first.stop()
  await withRaw(first.settings, (raw) =>
    raw.exec("DELETE FROM settings WHERE name = 'identity-pepper'"),
  )
  assert.equal((await countersignd(envOfSecondNode(t, first), 'serve')).code, 2)
  const again = await startTestService(t, first.env)
  await again.stop()
  assert.equal((await countersignd(envOfSecondNode(t, first), 'serve')).code, 2)
})

test('the database does not contain the pepper in any encoding', async (t) => {
  const service = await startTestService(t)
  await service.operator.addVerifiedOwner()
  const hex = readFileSync(pepperOf(service.env), 'utf8').trim()
  const text = await textOfTables(service.settings)
  assert.ok(!text.includes(hex))
  assert.ok(!text.includes(Buffer.from(hex, 'hex').toString('latin1')))
  assert.ok(!text.includes(Buffer.from(hex, 'hex').toString('base64')))
})

const portOf = ({ PORT }: Readonly<Record<string, string>>) => ({ PORT: PORT as string })
