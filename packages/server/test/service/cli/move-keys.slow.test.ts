import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Decrypter, Encrypter } from 'age-encryption'
import { newKeys } from '../../../../../test/support/copy-issuer-keys.ts'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import {
  COUNTERSIGND,
  countersignd,
  startTestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { needs } from '../../../../../test/support/tools.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { isSharedSecret, SHARED_SECRETS } from '../../../src/secrets/secret-files.ts'

const KEYS_PASSPHRASE = 'six random words make a passphrase'

const cleanup = fileCleanup()

type Files = Readonly<Record<string, string>>

/** All files of a data directory except the database, and the modes of the secret ones. */
function filesOf(dir: string): Files {
  const names = readdirSync(dir).filter((name) => !/^countersign\.db|^log-head|\.lock$/.test(name))
  for (const name of names) assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

let archived: ReturnType<typeof startArchived> | undefined

/** A service and an archive of its keys, for all tests. */
async function startArchived() {
  const service = await startTestService(cleanup)
  await service.operator.addVerifiedOwner('ada')
  const archive = join(tempDir(cleanup), 'keys.age')
  const env = { ...service.env, KEYS_PASSPHRASE }
  const { code, stdout, stderr } = await countersignd(env, 'export-keys', archive)
  assert.equal(code, 0, stderr)
  const quick = join(tempDir(cleanup), 'quick.age')
  writeFileSync(quick, await withLittleWork(readFileSync(archive)))
  return { service, exported: archive, quick, stdout, env, keys: filesOf(service.settings.dataDir) }
}

/** Encrypts an archive again with N = 2^10: with the 2^18 of `export-keys`, scrypt takes seconds each time it is read. */
async function withLittleWork(archive: Uint8Array): Promise<Uint8Array> {
  const decrypter = new Decrypter()
  decrypter.addPassphrase(KEYS_PASSPHRASE)
  const encrypter = new Encrypter()
  encrypter.setPassphrase(KEYS_PASSPHRASE)
  encrypter.setScryptWorkFactor(10)
  return encrypter.encrypt(await decrypter.decrypt(archive))
}

/** The archive that was exported, one that is quicker to read, and the environment of a second node on the same database. */
async function withArchive(t: TestContext) {
  archived ??= startArchived()
  const { env, ...shared } = await archived
  const { database } = shared.service.settings
  const DATABASE_URL = database.kind === 'postgres' ? database.url : `sqlite:${database.file}`
  const DATA_DIR = join(tempDir(t), 'second')
  return { ...shared, second: { ...env, DATABASE_URL, DATA_DIR, PORT: '0' } }
}

test('export-keys and import-keys bring the keys that nodes share to a second node, and nothing else', async (t) => {
  const { service, exported, quick, stdout, keys, second } = await withArchive(t)
  const names = Object.keys(keys)
  assert.equal(names.length, SHARED_SECRETS.length, names.join())
  assert.ok(existsSync(join(service.settings.dataDir, 'log-head')), 'which stays where it is')
  for (const name of names) assert.ok(stdout.includes(name), name)
  assert.equal(statSync(exported).mode & 0o777, 0o600)
  const bytes = readFileSync(exported, 'latin1')
  for (const text of Object.values(keys)) assert.ok(!bytes.includes(text.trim()))

  const lacking = await countersignd(second, 'doctor')
  assert.equal(lacking.code, 1)
  for (const name of names) assert.match(lacking.stdout, new RegExp(`${name} is missing`))

  const imported = await countersignd(second, 'import-keys', exported, '--json')
  assert.equal(imported.code, 0, imported.stderr)
  assert.deepEqual(JSON.parse(imported.stdout), { added: names, same: [], replaced: [] })
  assert.deepEqual(filesOf(second.DATA_DIR), keys)
  assert.equal(statSync(second.DATA_DIR).mode & 0o777, 0o700)
  const { code, stdout: examined } = await countersignd(second, 'doctor')
  assert.equal(code, 0, examined)
  assert.match(examined, /ok +identity pepper: matches the data\nok +erased/)
  assert.match(examined, /ok +service keys: the same as on all nodes\nok +key files/)

  const again = await countersignd(second, 'import-keys', quick)
  assert.match(again.stdout, /^Already there: a2a-key, /)
  const existing = await countersignd(second, 'export-keys', exported)
  assert.equal(existing.code, 1, 'no archive is overwritten')
  assert.equal(readFileSync(exported, 'latin1'), bytes)
})

test('import-keys replaces different keys only with --replace, all or none', async (t) => {
  const { quick: archive, keys, second } = await withArchive(t)
  assert.equal((await countersignd(second, 'import-keys', archive)).code, 0)
  const pepper = join(second.DATA_DIR, 'identity-pepper')
  writeFileSync(pepper, `${'ab'.repeat(32)}\n`)
  writeFileSync(join(second.DATA_DIR, 'log-key'), `${'cd'.repeat(32)}\n`)
  const before = filesOf(second.DATA_DIR)
  const examined = await countersignd(second, 'doctor')
  assert.match(examined.stdout, /fail +identity pepper: identity-pepper is not/)
  assert.match(examined.stdout, /fail +service keys: log-key is not/)
  const misfit = join(tempDir(t), 'misfit.age')
  const unsafe = await countersignd(second, 'export-keys', misfit)
  assert.match(unsafe.stderr, /identity-pepper is not the one/)
  assert.equal(existsSync(misfit), false)

  const refused = await countersignd(second, 'import-keys', archive)
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /Nothing was imported\. DATA_DIR has another identity-pepper, another log-key\./,
  )
  assert.deepEqual(filesOf(second.DATA_DIR), before)

  const obstacle = join(second.DATA_DIR, 'log-key.import')
  mkdirSync(obstacle)
  assert.equal((await countersignd(second, 'import-keys', archive, '--replace')).code, 1)
  rmdirSync(obstacle)
  assert.deepEqual(filesOf(second.DATA_DIR), before, 'it was stopped at one of the last files')

  const replaced = await countersignd(second, 'import-keys', archive, '--replace', '--json')
  assert.deepEqual(JSON.parse(replaced.stdout).replaced, ['identity-pepper', 'log-key'])
  const after = filesOf(second.DATA_DIR)
  for (const [name, text] of Object.entries(keys)) assert.equal(after[name], text, name)
  const kept = Object.keys(after).filter((name) => !(name in keys))
  assert.deepEqual(
    kept.map((name) => [name.split('.')[0], after[name]]),
    ['identity-pepper', 'log-key'].map((name) => [name, before[name]]),
  )
})

test('keys are exported from KEYS_DIR; commands that would replace them there refuse', async (t) => {
  const made = await newKeys(t)
  const service = await startTestService(t, { KEYS_DIR: made })
  const { dataDir } = service.settings
  const env = { ...service.env, KEYS_PASSPHRASE }
  const archive = join(tempDir(t), 'keys.age')
  const exported = await countersignd(env, 'export-keys', archive, '--json')
  assert.deepEqual(JSON.parse(exported.stdout).keys, readdirSync(made).toSorted())
  writeFileSync(archive, await withLittleWork(readFileSync(archive)))
  const same = await countersignd(env, 'import-keys', archive, '--json')
  assert.equal(JSON.parse(same.stdout).same.length, SHARED_SECRETS.length)
  const other = { ...env, KEYS_DIR: await newKeys(t) }
  const refused = await countersignd(other, 'import-keys', archive, '--replace')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /KEYS_DIR has another a2a-key, .* does not write there/)
  assert.deepEqual(readdirSync(dataDir).filter(isSharedSecret), [])

  const isBegun = async () => /entries are signed/.test((await countersignd(env, 'doctor')).stdout)
  await untilTicked(service, isBegun)
  const epoch = await countersignd(env, 'log', 'new-epoch')
  assert.equal(epoch.code, 2)
  assert.match(epoch.stderr, /log-key is in KEYS_DIR/)
  assert.equal(await isBegun(), true)
})

test('a wrong passphrase, and truncated or altered archives, are refused with the reason', async (t) => {
  const { quick: archive, second } = await withArchive(t)
  const original = readFileSync(archive)
  const broken = join(tempDir(t), 'broken.age')
  const importing = async (bytes: Uint8Array, env: Record<string, string> = second) => {
    writeFileSync(broken, bytes)
    const { code, stderr } = await countersignd(env, 'import-keys', broken)
    assert.equal(code, 2, stderr)
    assert.equal(existsSync(second.DATA_DIR), false)
    return stderr
  }
  const flipped = (at: number) => original.map((byte, i) => (i === at ? byte ^ 1 : byte))
  assert.match(
    await importing(original, { ...second, KEYS_PASSPHRASE: 'other' }),
    /passphrase is wrong/,
  )
  for (const bytes of [
    original.subarray(0, -1),
    original.subarray(0, 30),
    flipped(original.length - 1),
    flipped(original.length - 200),
  ]) {
    assert.match(await importing(bytes), /truncated or was altered|was altered/)
  }
  assert.match(await importing(Buffer.from('{}')), /no archive of countersignd export-keys/)
})

test('the passphrase comes from a file or the environment, never from the arguments', async (t) => {
  const { service, quick: archive, second } = await withArchive(t)
  const { KEYS_PASSPHRASE: _, ...env } = second
  const file = join(tempDir(t), 'passphrase')
  writeFileSync(file, `${KEYS_PASSPHRASE}\n`)
  const none = await countersignd(env, 'import-keys', archive)
  assert.equal(none.code, 2)
  assert.match(none.stderr, /no terminal .* --passphrase-file, or set KEYS_PASSPHRASE/)
  const argument = await countersignd(env, 'import-keys', archive, '--passphrase', KEYS_PASSPHRASE)
  assert.equal(argument.code, 2)
  const short = await countersignd(
    { ...service.env, KEYS_PASSPHRASE: 'short' },
    'export-keys',
    join(tempDir(t), 'short.age'),
  )
  assert.match(short.stderr, /at least 16 characters/)
  const read = await countersignd(env, 'import-keys', archive, '--passphrase-file', file)
  assert.equal(read.code, 0, read.stderr)
})

test(
  'import-keys asks for the passphrase at a terminal, without showing it',
  needs('script'),
  async (t) => {
    const { quick: archive, second } = await withArchive(t)
    const { KEYS_PASSPHRASE: _, ...env } = second
    const terminal = spawn(
      'script',
      ['-qec', `${process.execPath} ${COUNTERSIGND} import-keys ${archive}`, '/dev/null'],
      { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] },
    )
    let shown = ''
    for await (const chunk of terminal.stdout) {
      shown += chunk
      // Typed earlier, the terminal itself would show it.
      if (shown === 'Passphrase: ') terminal.stdin.write(`${KEYS_PASSPHRASE}\n`)
    }
    assert.match(shown, /^Passphrase: \s+Added: a2a-key/)
  },
)
