import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pythonFor } from '../../../../test/support/python.ts'
import { run } from '../../../../test/support/run.ts'
import { claimAgent } from '../../../../test/support/service.ts'
import { startWebhookService, suspend } from './support/webhook-world.ts'

const PYTHON = pythonFor('jwt')

const VERIFY_WITH_PYJWT = `
import sys, json, urllib.request, jwt
token, issuer, audience = sys.argv[1:]
metadata = json.load(urllib.request.urlopen(issuer + "/.well-known/ssf-configuration"))
assert metadata["issuer"] == issuer
assert jwt.get_unverified_header(token)["typ"] == "secevent+jwt"
key = jwt.PyJWKClient(metadata["jwks_uri"]).get_signing_key_from_jwt(token).key
claims = jwt.decode(token, key, algorithms=["EdDSA"], issuer=issuer, audience=audience,
                    options={"require": ["iss", "iat", "jti", "aud"]})
print(claims["sub_id"]["sub"], *claims["events"])
`

test(
  'PyJWT verifies a Security Event Token by the metadata of the transmitter',
  PYTHON.options,
  async (t) => {
    const hooks = await startWebhookService(t)
    const audience = 'https://soc.example/ssf'
    const world = await hooks.newWorld(null, { format: 'set', audience })
    const did = await claimAgent(hooks.service, world.owner.ownerId)
    await suspend(world, did)
    await hooks.untilReceived(world, 2)
    const verify = (token: string, expected: string) =>
      run(PYTHON.path, ['-c', VERIFY_WITH_PYJWT, token, hooks.service.url, expected], {})
    const said: string[] = []
    for (const { body } of world.receiver.received) {
      const { code, stdout, stderr } = await verify(body, audience)
      assert.equal(code, 0, stderr)
      said.push(stdout.trim())
      assert.match((await verify(body, 'https://other.example')).stderr, /InvalidAudienceError/)
    }
    const prefix = 'https://schemas.openid.net/secevent'
    assert.deepEqual(said, [
      `${did} ${prefix}/caep/event-type/credential-change`,
      `${did} ${prefix}/risc/event-type/account-disabled`,
    ])
  },
)
