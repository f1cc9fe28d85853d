import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { needs } from '../../../../test/support/tools.ts'
import { cliFor, errorIn } from '../support/cli.ts'
import { openssl, opensslPublicKey } from '../support/openssl.ts'

const SHOP = 'https://shop.example'
const HEX = '0123456789abcdef0123456789abcdef'

interface Signed {
  readonly publicKey: string
  readonly challenge: string
  readonly signature: string
}

function isSignatureOn(message: string, { publicKey, signature }: Signed): boolean {
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, Buffer.from(message), key, Buffer.from(signature, 'base64'))
}

suite('sign', () => {
  test(
    'prints the signature and nothing else, and openssl verifies it',
    needs('openssl'),
    async (t) => {
      const cli = cliFor(t)
      await cli.run('keygen')
      const challenge = 'a challenge of Zoë 🔑'
      const { code, stdout, stderr } = await cli.run('sign', '--unbound', challenge)
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      assert.match(stdout, /^[A-Za-z0-9+/]{85}[AQgw]==\n$/)

      const path = (name: string) => join(cli.home, name)
      writeFileSync(path('message'), challenge)
      writeFileSync(path('signature'), Buffer.from(stdout, 'base64'))
      const verification = ['pkeyutl', '-verify', '-rawin', '-inkey', cli.keyFile]
      const files = ['-in', path('message'), '-sigfile', path('signature')]
      await openssl(...verification, ...files)
    },
  )

  test('signs with a key that openssl has made', needs('openssl'), async (t) => {
    const cli = cliFor(t)
    const file = join(cli.home, 'theirs.pem')
    await openssl('genpkey', '-algorithm', 'ed25519', '-out', file)
    const signed = await cli.json<Signed>('sign', '--unbound', 'hello', '--key', file)
    assert.equal(signed.challenge, 'hello')
    assert.equal(signed.publicKey, await opensslPublicKey(file))
    assert.ok(isSignatureOn('hello', signed))
  })

  test('reads - from standard input, exactly', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const challenge of ['\ufeff mark and spaces \u00a0 ', '-']) {
      const { code, stdout } = await cli.runWithInput(challenge, 'sign', '--unbound', '-', '--json')
      assert.equal(code, 0)
      const signed: Signed = JSON.parse(stdout)
      assert.equal(signed.challenge, challenge)
      assert.ok(isSignatureOn(challenge, signed))
    }
    const withLineEnd = await cli.runWithInput('hello\n', 'sign', '--unbound', '-', '--json')
    assert.deepEqual([withLineEnd.code, errorIn(withLineEnd).code], [4, 'NOT_A_CHALLENGE'])
    assert.match(errorIn(withLineEnd).message, /control characters, such as line ends/)
    const dashed = await cli.json<Signed>('sign', '--unbound', '--', '--json')
    assert.ok(isSignatureOn('--json', dashed))
  })

  test('refuses whatever looks like a claim, under any short name', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const claim of [`svc-verify-${HEX}|main`, `acme-verify-${HEX}|`]) {
      const people = await cli.run('sign', '--unbound', claim)
      assert.deepEqual([people.code, people.stdout], [4, ''], claim)
      assert.match(people.stderr, /^countersign: This is not a challenge but a claim/)
      const piped = await cli.runWithInput(claim, 'sign', '--unbound', '-', '--json')
      assert.deepEqual([piped.code, piped.stdout], [4, ''], claim)
      assert.equal(errorIn(piped).code, 'LOOKS_LIKE_A_CLAIM')
    }
  })

  test('refuses signed bytes of other protocols, with either option', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const jws = Buffer.from('{"alg":"EdDSA"}').toString('base64url')
    for (const text of [
      `${jws}.${jws}`,
      '"@method": GET\n"@signature-params": ("@method")',
      'svc-rotate-v1\nhttps://id.example',
      'acme-recover-v1',
    ]) {
      for (const option of ['--unbound', '--audience=https://shop.example']) {
        const refused = await cli.run('sign', option, text, '--json')
        assert.deepEqual([refused.code, refused.stdout], [4, ''], text)
        assert.equal(errorIn(refused).code, 'NOT_A_CHALLENGE')
      }
    }
  })

  test('needs --audience or --unbound, and exactly one of them', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const options of [[], ['--unbound', '--audience', SHOP], ['--audience', 'shop.example']]) {
      const refused = await cli.run('sign', ...options, 'x', '--json')
      assert.deepEqual([refused.code, refused.stdout], [2, ''])
      assert.equal(errorIn(refused).code, 'USAGE')
    }
  })

  test('signs for the audience alone, of any deployment', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const name of ['svc', 'acme']) {
      const challenge = `${name}-challenge-v1:${SHOP}:${'n'.repeat(22)}`
      for (const audience of [SHOP, `${SHOP}/`]) {
        const signed = await cli.json<Signed>('sign', '--audience', audience, challenge)
        assert.ok(isSignatureOn(challenge, signed))
      }
      for (const other of ['https://evil.example', 'http://shop.example', `${SHOP}:8443`]) {
        const refused = await cli.run('sign', '--audience', other, challenge, '--json')
        assert.deepEqual([refused.code, refused.stdout], [4, ''])
        assert.equal(errorIn(refused).code, 'WRONG_AUDIENCE')
      }
      const unbound = await cli.run('sign', '--unbound', challenge, '--json')
      assert.deepEqual([unbound.code, errorIn(unbound).code], [4, 'WRONG_AUDIENCE'])
    }
    for (const text of ['hello', `svc-challenge-v1:${SHOP}:short`, `svc-challenge-v2:${SHOP}:x`]) {
      const refused = await cli.run('sign', '--audience', SHOP, text, '--json')
      assert.deepEqual([refused.code, errorIn(refused).code], [4, 'NOT_A_CHALLENGE'])
    }
  })

  test('signs what merely resembles one', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const harmless of [`svc-verify-${HEX}`, `svc-verify-${HEX.slice(1)}|main`]) {
      assert.ok(isSignatureOn(harmless, await cli.json<Signed>('sign', '--unbound', harmless)))
    }
  })

  test('refuses what no challenge can be', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    for (const challenge of ['', 'a\0b', 'é'.repeat(4097)]) {
      const refused = await cli.runWithInput(challenge, 'sign', '--unbound', '-', '--json')
      assert.deepEqual([refused.code, refused.stdout], [2, ''])
      assert.equal(errorIn(refused).code, 'VALIDATION_ERROR')
    }
    assert.equal((await cli.runWithInput('é'.repeat(4096), 'sign', '--unbound', '-')).code, 0)
    const refused = await cli.runWithInput(
      Buffer.from('caf\xe9', 'latin1'),
      'sign',
      '--unbound',
      '-',
    )
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /not UTF-8/)
  })

  test('without a key, says how to get one', async (t) => {
    const refused = await cliFor(t).run('sign', '--unbound', 'x')
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      /^countersign: There is no key at .*agent\.pem.*countersign keygen\n$/,
    )
  })
})
