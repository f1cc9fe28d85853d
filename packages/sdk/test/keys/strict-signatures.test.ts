import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../../../../test/support/run.ts'
import { readCases } from '../../../../test/support/vector-files.ts'
import { newKey } from '../../src/keys/keys.ts'
import { firstOf, nodeEd25519, sodiumEd25519, webEd25519 } from '../../src/keys/platform-ed25519.ts'
import { portableEd25519 } from '../../src/keys/portable-ed25519.ts'
import { isSignedChallenge } from '../../src/keys/signed-challenge.ts'
import type { Ed25519 } from '../../src/keys/signer.ts'
import { isSignature, signatureVerifier, verifierBy } from '../../src/keys/verify-signature.ts'

interface SignatureCase {
  readonly publicKeyHex: string
  readonly messageHex: string
  readonly signatureHex: string
}

const hex = (text: string) => Buffer.from(text, 'hex')

const IMPLEMENTATIONS: Readonly<Record<string, Ed25519 | null>> = {
  'sodium-native': sodiumEd25519(),
  'node:crypto': nodeEd25519(),
  WebCrypto: webEd25519,
  JavaScript: portableEd25519,
}

for (const kind of ['valid', 'invalid'] as const) {
  for (const [name, ed25519] of Object.entries(IMPLEMENTATIONS)) {
    test(`signatures that are ${kind} to libsodium are ${kind} by ${name}`, async () => {
      assert.ok(ed25519)
      const verify = verifierBy(async () => ed25519, 10)
      for (const each of readCases<SignatureCase>('signatures.json', kind)) {
        const { publicKeyHex, messageHex, signatureHex } = each
        const parts = [hex(publicKeyHex), hex(messageHex), hex(signatureHex)] as const
        assert.equal(await isSignature(...parts), kind === 'valid', each.name)
        assert.equal(await verify(...parts), kind === 'valid', each.name)
        assert.equal(await verify(...parts), kind === 'valid', `${each.name}, a known key`)
      }
    })
  }
}

test('a platform that has no Ed25519, or one that decides otherwise, is passed over', async () => {
  const node = nodeEd25519()
  assert.ok(node)
  const failing: Ed25519 = { ...node, verifierOf: () => Promise.reject(new Error('no Ed25519')) }
  const lenient: Ed25519 = { ...node, verifierOf: async () => () => true }
  const strict: Ed25519 = { ...node, verifierOf: async () => () => false }
  assert.equal(await firstOf([node, webEd25519]), node)
  assert.equal(await firstOf([null, failing, lenient, strict, webEd25519]), webEd25519)
  assert.equal(await firstOf([failing, lenient]), portableEd25519)
})

for (const [name, ed25519] of Object.entries({
  'sodium-native': sodiumEd25519(),
  'node:crypto': nodeEd25519(),
})) {
  test(`of many signatures that ${name} verifies together, each has its own verdict`, async () => {
    assert.ok(ed25519)
    const key = await newKey()
    const verify = await ed25519.verifierOf(key.publicKey)
    const messages = Array.from({ length: 200 }, (_, i) => Buffer.from(`message ${i}`))
    const signatures = await Promise.all(messages.map((each) => key.sign(each)))
    const verdicts = messages.map((each, i) => {
      if (i === 100) return verify(null as never, signatures[i] as Uint8Array)
      const other = i % 3 === 0 ? 1 : 0
      return verify(each, signatures[(i + other) % 200] as Uint8Array)
    })
    for (const [i, each] of (await Promise.allSettled(verdicts)).entries()) {
      if (i === 100) assert.equal(each.status, 'rejected', 'this one alone')
      else assert.deepEqual(each, { status: 'fulfilled', value: i % 3 !== 0 })
    }
  })
}

test('libsodium verifies where sodium-native can be loaded, else node:crypto', async () => {
  const file = import.meta.resolve('../../src/keys/platform-ed25519.ts')
  const program = `import { nodeEd25519, platformEd25519, sodiumEd25519 } from ${JSON.stringify(file)}
    const codeOf = (ed25519) => String(ed25519?.verifierOf)
    const chosen = codeOf(await platformEd25519())
    console.log(chosen === codeOf(sodiumEd25519()), chosen === codeOf(nodeEd25519()))`
  for (const [flags, printed] of [
    [[], 'true false\n'],
    [['--no-addons'], 'false true\n'],
  ] as const) {
    const args = [...flags, '--input-type=module', '--eval', program]
    assert.equal((await run(process.execPath, args)).stdout, printed)
  }
})

test('a verifier knows keys by their bytes, and as many as it may', async () => {
  const message = hex('00')
  const [one, two] = await Promise.all([newKey(), newKey()])
  const [byOne, byTwo] = await Promise.all([one.sign(message), two.sign(message)])
  for (const maxKeys of [1, 2]) {
    const verify = signatureVerifier(maxKeys)
    const bytes = Buffer.from(one.publicKey)
    for (let i = 0; i < 2; i += 1) {
      bytes.set(one.publicKey)
      assert.equal(await verify(bytes, message, byOne), true)
      assert.equal(await verify(bytes, message, byTwo), false)
      assert.equal(await verify(bytes, hex('01'), byOne), false)
      // The caller's memory is used for another key.
      bytes.set(two.publicKey)
      assert.equal(await verify(bytes, message, byOne), false)
      assert.equal(await verify(bytes, message, byTwo), true)
    }
    assert.equal(await verify(new Uint8Array(200_000), message, byOne), false)
  }
})

test('a signed challenge counts by itself; one byte of it changed, it does not', async () => {
  const key = await newKey()
  const challenge = 'hello, é'
  const signature = Buffer.from(await key.sign(Buffer.from(challenge))).toString('base64')
  const answer = { publicKey: Buffer.from(key.publicKey).toString('base64'), challenge, signature }
  assert.equal(await isSignedChallenge(answer), true)
  const other = Buffer.from((await newKey()).publicKey).toString('base64')
  for (const changed of [
    { challenge: 'hello, e\u0301' },
    { challenge: '' },
    { challenge: '\ud800' },
    { publicKey: other },
    { publicKey: `${answer.publicKey} ` },
    { signature: `${signature.slice(0, -2)}` },
    { signature: '' },
  ]) {
    assert.equal(await isSignedChallenge({ ...answer, ...changed }), false)
  }
})

test('a claim that somebody has signed is no signed challenge', async () => {
  const key = await newKey()
  const challenge = `svc-verify-${'0'.repeat(32)}|main`
  const signature = Buffer.from(await key.sign(Buffer.from(challenge))).toString('base64')
  const publicKey = Buffer.from(key.publicKey).toString('base64')
  assert.equal(await isSignedChallenge({ publicKey, challenge, signature }), false)
})
