import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { CertificateClaims, IssuerJwk, JwsAlgorithm } from '@countersign/protocol'
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc'
import { verifyJWS } from 'did-jwt'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import {
  certificateOf,
  decodeJws,
  KEY_SET,
  keySetOf,
  verifyWithJwk,
} from '../../../../../test/support/agent-certificates.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'

const ALGORITHMS: readonly JwsAlgorithm[] = ['EdDSA', 'ES256']

async function startWithAgent(service: TestService): Promise<string> {
  return claimAgent(service, await service.operator.addVerifiedOwner())
}

test('jose verifies a certificate with the key set of the service', async (t) => {
  const service = await startTestService(t)
  const did = await startWithAgent(service)
  const keys = createRemoteJWKSet(new URL(KEY_SET, service.url))
  const expected = { typ: 'dc+sd-jwt', issuer: service.url, subject: did }
  for (const alg of ALGORITHMS) {
    const certificate = await certificateOf(service, did, {}, `?alg=${alg}`)
    const { payload } = await jwtVerify<CertificateClaims>(certificate, keys, {
      ...expected,
      algorithms: [alg],
    })
    assert.equal(payload.grade, 'C')
    const other = jwtVerify(certificate, keys, { ...expected, issuer: 'https://other.example' })
    await assert.rejects(other, { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
  }
})

test('did-jwt verifies a certificate', async (t) => {
  const service = await startTestService(t)
  const did = await startWithAgent(service)
  const { keys } = await keySetOf(service)
  const methods = keys.map((publicKeyJwk) => ({
    id: `#${publicKeyJwk.kid}`,
    type: 'JsonWebKey2020',
    controller: service.url,
    publicKeyJwk,
  }))
  for (const alg of ALGORITHMS) {
    const certificate = await certificateOf(service, did, {}, `?alg=${alg}`)
    const { kid } = decodeJws(certificate).header
    const signer = methods.find(({ id }) => id === `#${kid}`)
    assert.ok(signer)
    assert.equal(verifyJWS(certificate, signer), signer)
    const tampered = `${certificate.slice(0, -6)}AAAAAA`
    assert.throws(() => verifyJWS(tampered, signer))
  }
})

test('@sd-jwt/sd-jwt-vc verifies a certificate, its status and its type, and refuses it once the agent is suspended', async (t) => {
  const service = await startTestService(t)
  const did = await startWithAgent(service)
  const { keys } = await keySetOf(service)
  const verifier = (data: string, signature: string) =>
    verifyWithJwk(
      keys[0] as IssuerJwk,
      Buffer.from(data),
      Buffer.from(signature, 'base64url'),
    ) as boolean
  const instance = new SDJwtVcInstance({
    verifier: async (data, signature) => verifier(data, signature),
    statusVerifier: async (data, signature) => verifier(data, signature),
    hasher: async (data) =>
      createHash('sha256')
        .update(typeof data === 'string' ? data : new Uint8Array(data))
        .digest(),
    loadTypeMetadataFormat: true,
  })
  const certificate = await certificateOf(service, did, {
    headers: { accept: 'application/dc+sd-jwt' },
  })
  const { payload, typeMetadata } = await instance.verify(certificate)
  assert.equal(payload.sub, did)
  assert.equal(typeMetadata?.mergedTypeMetadata.name, 'Agent certificate')

  await setStatus(service, did, 'suspended')
  await untilTicked(service, () =>
    instance.verify(certificate).then(
      () => false,
      () => true,
    ),
  )
  await assert.rejects(instance.verify(certificate), /Status is not valid/)
})
