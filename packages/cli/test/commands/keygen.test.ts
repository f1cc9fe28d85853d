import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'
import { tempDir } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { cliFor, errorIn } from '../support/cli.ts'
import { openssl, opensslPublicKey } from '../support/openssl.ts'

const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/** A private key of openssl's. @returns its file */
async function opensslKey(dir: string, ...args: string[]): Promise<string> {
  const file = join(dir, `${args.join('')}.pem`.replaceAll(/[^a-z0-9.]/gi, ''))
  await openssl('genpkey', ...args, '-out', file)
  return file
}

suite('keygen', () => {
  test('writes a key for its owner alone, and prints the public one only', async (t) => {
    const cli = cliFor(t)
    const { code, stdout, stderr } = await cli.run('keygen')
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    assert.equal(statSync(cli.keyFile).mode & 0o777, 0o600)
    assert.equal(statSync(dirname(cli.keyFile)).mode & 0o777, 0o700)
    const pem = readFileSync(cli.keyFile, 'utf8')
    const [, secret = ''] = /-----BEGIN PRIVATE KEY-----\n(.+)\n/.exec(pem) ?? []
    assert.ok(secret.length > 60)
    assert.ok(!stdout.includes(secret) && !stdout.includes(secret.slice(-44)))
    assert.match(stdout, /^ {2}Public key {2}[A-Za-z0-9+/]{43}=$/m)
    assert.match(stdout, new RegExp(`^ {2}Key file {4}${cli.keyFile}$`, 'm'))
  })

  test('never overwrites a key, unless forced', async (t) => {
    const cli = cliFor(t)
    const first = await cli.json('keygen')
    const pem = readFileSync(cli.keyFile, 'utf8')
    const refused = await cli.run('keygen', '--json')
    assert.equal(refused.code, 4)
    assert.equal(refused.stdout, '')
    assert.equal(errorIn(refused).code, 'KEY_EXISTS')
    assert.equal(readFileSync(cli.keyFile, 'utf8'), pem)

    const second = await cli.json('keygen', '--force')
    assert.notEqual(second.publicKey, first.publicKey)
    assert.notEqual(readFileSync(cli.keyFile, 'utf8'), pem)
    assert.equal(statSync(cli.keyFile).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(dirname(cli.keyFile)), ['agent.pem'])

    const directory = await cli.run('keygen', '--force', '--key', dirname(cli.keyFile))
    assert.equal(directory.code, 1)
    assert.deepEqual(readdirSync(cli.home), ['.countersign'])
  })

  test('of five at once, one makes the key', async (t) => {
    const cli = cliFor(t)
    const results = await Promise.all(Array.from({ length: 5 }, () => cli.run('keygen', '--json')))
    const made = results.filter(({ code }) => code === 0)
    assert.equal(made.length, 1)
    assert.ok(results.every(({ code }) => code === 0 || code === 4))
    const { publicKey } = JSON.parse(made[0]?.stdout ?? '')
    assert.equal((await cli.json('sign', '--unbound', 'x')).publicKey, publicKey)
  })

  test('puts the key where --key says, before COUNTERSIGN_KEY, before the home directory', async (t) => {
    const dir = tempDir(t)
    const named = join(dir, 'deep', 'er', 'named.pem')
    const cli = cliFor(t, { COUNTERSIGN_KEY: join(dir, 'env.pem') })
    assert.equal((await cli.json('keygen', '--key', named)).keyFile, named)
    assert.equal((await cli.json('keygen')).keyFile, join(dir, 'env.pem'))
    assert.deepEqual(readdirSync(cli.home), [])
  })

  test('imports a key of openssl, and openssl reads ours', needs('openssl'), async (t) => {
    const cli = cliFor(t)
    const theirs = await opensslKey(cli.home, '-algorithm', 'ed25519')
    const publicKey = await opensslPublicKey(theirs)
    assert.equal((await cli.json('keygen', '--from', theirs)).publicKey, publicKey)
    assert.equal(readFileSync(cli.keyFile, 'utf8'), readFileSync(theirs, 'utf8'))
    assert.equal(await opensslPublicKey(cli.keyFile), publicKey)
    assert.match(publicKey, KEY)
  })

  test(
    'says what is wrong with a file that holds no key of an agent',
    needs('openssl'),
    async (t) => {
      const cli = cliFor(t)
      const good = await opensslKey(cli.home, '-algorithm', 'ed25519')
      const publicOnly = join(cli.home, 'public.pem')
      await openssl('pkey', '-in', good, '-pubout', '-out', publicOnly)
      const encrypted = ['-algorithm', 'ed25519', '-aes256', '-pass', 'pass:secret']
      const junk = join(cli.home, 'junk.pem')
      writeFileSync(junk, 'no key\n')
      const cases = [
        [await opensslKey(cli.home, ...encrypted), /is encrypted/],
        [await opensslKey(cli.home, '-algorithm', 'ed448'), /is not an Ed25519 private key/],
        [publicOnly, /is a public key/],
        [junk, /not a private key in PEM/],
      ] as const
      for (const [file, message] of cases) {
        const refused = await cli.run('keygen', '--from', file, '--json')
        assert.equal(refused.code, 2, file)
        assert.equal(errorIn(refused).code, 'UNUSABLE_KEY')
        assert.match(errorIn(refused).message, message)
      }
      assert.ok(!readdirSync(cli.home).includes('.countersign'))
    },
  )

  test('warns about a key that others can read', async (t) => {
    const cli = cliFor(t)
    mkdirSync(dirname(cli.keyFile))
    await cli.run('keygen')
    chmodSync(cli.keyFile, 0o644)
    const people = await cli.run('sign', '--unbound', 'x')
    assert.equal(people.code, 0)
    assert.match(
      people.stderr,
      /^countersign: warning: other users .*\. Run: chmod 600 .*agent\.pem\n$/,
    )
    const program = await cli.run('sign', '--unbound', 'x', '--json')
    assert.match(JSON.parse(program.stderr).warning.message, /chmod 600/)
    assert.equal(JSON.parse(program.stdout).signature, people.stdout.trim())
  })
})
