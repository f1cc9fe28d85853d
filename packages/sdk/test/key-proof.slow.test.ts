import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DID, refusal, startImpostor } from '../../../test/support/impostor.ts'
import { logInfo } from '../../../test/support/log-client.ts'
import { startTestService } from '../../../test/support/service.ts'
import { testNoteKey } from '../../../test/support/test-log.ts'
import { untilTicked } from '../../../test/support/until.ts'
import { verifyKeyProof } from '../src/index.ts'
import { Registry } from '../src/registry.ts'
import { certifiedAgent, registryOf } from './support/certified.ts'
import { failsWith } from './support/fails.ts'

test('the proof of a key is fetched and verified', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { did } = await certifiedAgent(service, registry)
  await untilTicked(service, () =>
    registry.logProof(did).then(
      () => true,
      ({ code }) => {
        assert.equal(code, 'UNAVAILABLE')
        return false
      },
    ),
  )
  const proof = await registry.logProof(did.slice(-24))
  const { keyThumbprint, keySequence } = await registry.agent(did)
  const { verifierKey, origin } = await logInfo(service.url)
  const policy = `log ${verifierKey}\nquorum none\n`
  const key = { did, keyThumbprint, keySequence, policy }
  const verified = await verifyKeyProof(proof, key)
  assert.deepEqual([verified.origin, verified.witnesses], [origin, []])
  assert.ok(verified.index < verified.size)

  const otherLog = `log ${testNoteKey(origin).verifierKey}\nquorum none\n`
  const witness = testNoteKey('w.example', 'cosignature')
  const witnessed = policy.replace('quorum none', `witness w ${witness.verifierKey}\nquorum w`)
  const wrong: [string, typeof key][] = [
    [proof.replace(/index \d+/, 'index 999'), key],
    [proof, { ...key, keySequence: 2 }],
    [proof, { ...key, did: DID }],
    [proof, { ...key, policy: otherLog }],
    [proof, { ...key, policy: witnessed }],
    ['', key],
  ]
  for (const [text, options] of wrong) {
    await failsWith('INVALID_PROOF', verifyKeyProof(text, options))
  }
  await failsWith('INVALID_ARGUMENT', verifyKeyProof(proof, { ...key, policy: 'log' }))
  await failsWith('NOT_FOUND', registry.logProof(DID))
  await failsWith('INVALID_ARGUMENT', registry.logProof('x'))
})

test('what is unavailable is not asked for again, and only text of a limited size is a proof', async (t) => {
  const text = { 'content-type': 'text/plain; charset=utf-8' }
  const registryFor = async (...lines: Parameters<typeof startImpostor>[1][]) => {
    const site = await startImpostor(t, ...lines)
    return { ...site, registry: new Registry(site.url, { retryBaseMs: 1 }) }
  }
  const away = await registryFor({ status: 503, body: refusal('UNAVAILABLE') })
  await failsWith('UNAVAILABLE', away.registry.logProof(DID))
  assert.equal(away.asked.length, 1)
  assert.equal(away.asked[0]?.headers.accept, 'text/plain')

  const broken = await registryFor({ instead: 'drop' }, { headers: text, body: 'a proof' })
  assert.equal(await broken.registry.logProof(DID), 'a proof')
  assert.equal(broken.asked.length, 2)

  const proxy = await registryFor({ status: 502, headers: text, body: 'Bad Gateway' })
  await failsWith('UNAVAILABLE', proxy.registry.logProof(DID))
  for (const line of [
    { headers: text, body: 'x'.repeat(65_537) },
    { headers: { 'content-type': 'text/html' }, body: 'a proof' },
    { body: { proof: 'a proof' } },
  ]) {
    const site = await registryFor(line)
    await failsWith('PROTOCOL', site.registry.logProof(DID))
  }
  // Nothing else of the service is text.
  const other = await registryFor({ headers: text, body: 'text' })
  await failsWith('PROTOCOL', other.registry.lookup(DID))
})
