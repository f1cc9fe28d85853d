import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { keySetOf } from '../../../../../test/support/agent-certificates.ts'
import { issuerKeyFilesIn, newKeys } from '../../../../../test/support/copy-issuer-keys.ts'
import {
  countersignd,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { isSharedSecret } from '../../../src/secrets/secret-files.ts'

type Env = Readonly<Record<string, string>>

/**
 * Mounts files as a Secret of Kubernetes does: names are links through `..data` into a folder of the version, and a new version
 * replaces that link. Files can be read by the group of the pod.
 */
function mount(volume: string, from: string, version: string): string {
  mkdirSync(volume, { recursive: true })
  chmodSync(volume, 0o755)
  const files = join(volume, `..${version}`)
  mkdirSync(files)
  for (const name of readdirSync(from)) {
    copyFileSync(join(from, name), join(files, name))
    chmodSync(join(files, name), 0o440)
  }
  symlinkSync(`..${version}`, join(volume, '..data_tmp'))
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
  for (const name of readdirSync(from)) {
    rmSync(join(volume, name), { force: true })
    symlinkSync(`..data/${name}`, join(volume, name))
  }
  chmodSync(volume, 0o555)
  return volume
}

async function examined(env: Env, check: string): Promise<string> {
  const { stdout, stderr } = await countersignd(env, 'doctor', '--json')
  const findings = JSON.parse(stdout) as { check: string; verdict: string; detail: string }[]
  const found = findings.find((each) => each.check === check)
  assert.ok(found, stderr)
  return `${found.verdict} ${found.detail}`
}

/** The environment of another node of a service, with an empty data directory. */
function secondNode(t: TestContext, { env, settings }: TestService): Env {
  const { database } = settings
  const DATABASE_URL = database.kind === 'postgres' ? database.url : `sqlite:${database.file}`
  return { ...env, DATABASE_URL, DATA_DIR: join(tempDir(t), 'second') }
}

const secretsIn = (dir: string) => readdirSync(dir).filter(isSharedSecret)

test('a service starts with the keys of a read-only volume, makes none, and follows a rotation without a restart', async (t) => {
  const made = await newKeys(t)
  const KEYS_DIR = mount(join(tempDir(t), 'volume'), made, 'one')
  const before = readdirSync(KEYS_DIR)
  const service = await startTestService(t, { KEYS_DIR })
  const kids = async () => (await keySetOf(service)).keys.map(({ kid }) => `issuer-key-${kid}`)
  assert.deepEqual(
    await kids().then((all) => all.filter((each) => secretsIn(made).includes(each))),
    issuerKeyFilesIn(made),
  )
  assert.deepEqual(secretsIn(service.settings.dataDir), [])
  assert.match(await examined(service.env, 'key files'), /^ok/)
  assert.match(await examined(service.env, 'service keys'), /^ok the same as on all nodes/)
  assert.match(await examined(service.env, 'identity pepper'), /^ok matches/)

  const other = secondNode(t, service)
  const rotated = await countersignd(other, 'issuer-key', 'rotate', '--json')
  const { file } = JSON.parse(rotated.stdout) as { file: string }
  assert.deepEqual(secretsIn(other.DATA_DIR as string), [file], 'which is writable')
  assert.deepEqual(readdirSync(KEYS_DIR), before)
  const state = async () => (await countersignd(other, 'issuer-key', 'list')).stdout
  const untilListed = (pattern: RegExp) =>
    untilTicked(service, async () => pattern.test(await state()))
  await untilListed(/waits for 1 of 1 processes to get the file/)
  copyFileSync(join(other.DATA_DIR as string, file), join(made, file))
  mount(KEYS_DIR, made, 'two')
  await untilListed(/becomes active at/)
})

test('the keys of KEYS_DIR come before those of DATA_DIR, and doctor reports a difference', async (t) => {
  const made = await newKeys(t)
  const service = await startTestService(t, { KEYS_DIR: made })
  const { dataDir } = service.settings
  copyFileSync(join(made, 'identity-pepper'), join(dataDir, 'identity-pepper'))
  assert.match(await examined(service.env, 'key files'), /^ok/, 'the same contents')
  for (const name of ['identity-pepper', 'webhook-key'])
    writeFileSync(join(dataDir, name), `${'ab'.repeat(32)}\n`, { mode: 0o600 })
  assert.match(
    await examined(service.env, 'key files'),
    /^warn KEYS_DIR and DATA_DIR differ in identity-pepper, webhook-key: KEYS_DIR counts/,
  )
  assert.match(await examined(service.env, 'service keys'), /^ok/)
  const { DATA_DIR, DATABASE_URL = `sqlite:${dataDir}/countersign.db` } = service.env
  await service.stop()
  const again = await startTestService(t, {
    DATA_DIR: DATA_DIR as string,
    DATABASE_URL,
    KEYS_DIR: made,
  })
  assert.equal((await fetch(`${again.url}/readyz`)).status, 200)
  await again.stop()
  const { KEYS_DIR: _, ...without } = again.env
  assert.match(await examined(without, 'identity pepper'), /^fail identity-pepper is not the one/)

  chmodSync(join(made, 'log-key'), 0o444)
  for (const name of ['identity-pepper', 'webhook-key']) rmSync(join(dataDir, name))
  assert.match(await examined(again.env, 'key files'), /^warn other users may read log-key/)
})
