import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { certificateOf, KEY_SET, keySetOf } from '../../../../../test/support/agent-certificates.ts'
import { run } from '../../../../../test/support/run.ts'
import { claimAgent, countersignd, startTestService } from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'

/** Another Python may come before Debian's in the path. */
function pythonWith(module: string): string | null {
  const found = ['python3', '/usr/bin/python3'].find(
    (each) => spawnSync(each, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0,
  )
  return found ?? null
}

const PYJWT = pythonWith('jwt')
const JWCRYPTO = pythonWith('jwcrypto')

const VERIFY_WITH_PYJWT = `
import sys, jwt
certificate, issuer, key_set = sys.argv[1:]
assert jwt.get_unverified_header(certificate)["typ"] == "dc+sd-jwt"
key = jwt.PyJWKClient(key_set).get_signing_key_from_jwt(certificate).key
claims = jwt.decode(certificate, key, algorithms=["EdDSA", "ES256"], issuer=issuer)
print(claims["sub"])
`

const VERIFY_WITH_JWCRYPTO = `
import sys, json
from jwcrypto import jwk, jws
certificate, issuer, key_set = sys.argv[1:]
token = jws.JWS()
token.deserialize(certificate)
token.verify(jwk.JWKSet.from_json(key_set).get_key(token.jose_header["kid"]))
claims = json.loads(token.payload)
assert claims["iss"] == issuer
print(claims["sub"])
`

test('PyJWT verifies a certificate, and no longer after its key was compromised', {
  skip: PYJWT === null && 'missing: PyJWT (Debian: python3-jwt)',
}, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const verify = (certificate: string) =>
    run(
      PYJWT as string,
      ['-c', VERIFY_WITH_PYJWT, certificate, service.url, service.url + KEY_SET],
      {},
    )
  const certificates = []
  for (const alg of ['EdDSA', 'ES256']) {
    const certificate = await certificateOf(service, did, {}, `?alg=${alg}`)
    const { stdout, stderr } = await verify(certificate)
    assert.equal(stdout.trim(), did, stderr)
    certificates.push(certificate)
  }
  const before = (await keySetOf(service)).keys
  const rotated = await countersignd(service.env, 'issuer-key', 'rotate', '--compromised')
  assert.equal(rotated.code, 0)
  await untilTicked(service, async () => (await keySetOf(service)).keys[0]?.kid !== before[0]?.kid)
  for (const each of certificates) {
    const { code, stderr } = await verify(each)
    assert.notEqual(code, 0)
    assert.match(stderr, /Unable to find a signing key/)
  }
})

test('jwcrypto verifies a certificate', {
  skip: JWCRYPTO === null && 'missing: jwcrypto (Debian: python3-jwcrypto)',
}, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const keySet = JSON.stringify(await keySetOf(service))
  for (const alg of ['EdDSA', 'ES256']) {
    const certificate = await certificateOf(service, did, {}, `?alg=${alg}`)
    const args = ['-c', VERIFY_WITH_JWCRYPTO, certificate, service.url, keySet]
    const { stdout, stderr } = await run(JWCRYPTO as string, args, {})
    assert.equal(stdout.trim(), did, stderr)
  }
})
