import assert from 'node:assert/strict'
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { Agent, isSignedChallenge, Registry } from '@countersign/sdk'
import { compactVerify, flattenedVerify } from 'jose'
import { cliFor, errorIn } from '../packages/cli/test/support/cli.ts'
import { startStdioHost } from '../packages/cli/test/support/mcp.ts'
import { assertRefused, jsonOf } from './support/answer.ts'
import { post } from './support/ask.ts'
import { newKey } from './support/key.ts'
import { pythonFor } from './support/python.ts'
import { verifyBody } from './support/refused-posts.ts'
import { claimAgent, run, startTestService } from './support/service.ts'
import { readCases } from './support/vector-files.ts'

interface ForeignCase {
  readonly text: string
  readonly kind: string | null
  readonly signer: 'refused' | 'signed'
  readonly verify: 'refused' | 'accepted'
  readonly jws?: true
}
const CASES = readCases<ForeignCase>('foreign-texts.json', 'cases')
const SHOP = 'https://shop.example'

function codeOf({ kind }: ForeignCase): string {
  return kind === 'claim' ? 'LOOKS_LIKE_A_CLAIM' : 'NOT_A_CHALLENGE'
}

test('the SDK signs no foreign text of the vectors', async () => {
  const key = newKey()
  const signer = {
    publicKey: Buffer.from(key.publicKey, 'base64'),
    sign: async (message: Uint8Array) => sign(null, message, key.privateKey),
  }
  const agent = new Agent({ registry: new Registry('https://id.example'), signer })
  for (const each of CASES) {
    if (each.signer === 'signed') {
      assert.ok(await isSignedChallenge(await agent.answerUnbound(each.text)), each.name)
      continue
    }
    await assert.rejects(agent.answerUnbound(each.text), { code: codeOf(each) }, each.name)
    await assert.rejects(agent.answer(each.text, { audience: SHOP }), { code: codeOf(each) })
  }
})

test('the command and the MCP server sign no foreign text of the vectors', async (t) => {
  const cli = cliFor(t)
  await cli.run('keygen')
  const host = await startStdioHost(t, cli, '--allow-plain-challenges')
  for (const each of CASES) {
    const signed = await cli.runWithInput(each.text, 'sign', '--unbound', '-', '--json')
    const args = { audience: SHOP, challenge: each.text }
    if (each.signer === 'signed') {
      assert.equal(signed.code, 0, each.name)
      const { signature } = JSON.parse(signed.stdout)
      assert.equal((await host.data('sign_challenge', args)).signature, signature, each.name)
      continue
    }
    assert.deepEqual([signed.code, signed.stdout], [4, ''], each.name)
    assert.equal(errorIn(signed).code, codeOf(each), each.name)
    const refusal = await host.refusal('sign_challenge', args)
    assert.ok(refusal.startsWith(`${codeOf(each)}: `), `${each.name}: ${refusal}`)
  }
})

test('the service verifies no foreign text of the vectors, but control characters, as the contract allows', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const each of CASES) {
    const answer = await post(service, '/api/v1/agent/verify', verifyBody(key, each.text))
    if (each.verify === 'refused') assertRefused(answer, 400, 'VALIDATION_ERROR', /challenge/)
    else assert.equal(jsonOf(answer).verified, true, each.name)
  }
})

const PYTHON = pythonFor('jwt')
/** Prints, for each token on standard input, whether PyJWT verifies it with a key. */
const PYJWT = `
import json, sys, jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
given = json.load(sys.stdin)
key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(given["key"]))
def accepts(token):
    try:
        jwt.PyJWS().decode(token, key, algorithms=["EdDSA"])
        return True
    except Exception:
        return False
print(json.dumps([accepts(each) for each in given["tokens"]]))
`

test(
  'each refused JWS of the vectors proves something: jose or PyJWT accepts it',
  PYTHON.options,
  async () => {
    const key = newKey()
    const cases = CASES.filter(({ jws }) => jws)
    const signatures = cases.map(({ text }) =>
      sign(null, Buffer.from(text), key.privateKey).toString('base64url'),
    )
    const tokens = cases.map(({ text }, i) => `${text}.${signatures[i]}`)
    const given = JSON.stringify({
      key: Buffer.from(key.publicKey, 'base64').toString('hex'),
      tokens,
    })
    const { code, stdout, stderr } = await run(PYTHON.path, ['-c', PYJWT], PYTHON.env, given)
    assert.equal(code, 0, stderr)
    const pyjwt: boolean[] = JSON.parse(stdout)
    let lax = 0
    for (const [i, { name, text }] of cases.entries()) {
      const jose = await acceptedByJose(
        text,
        signatures[i] as string,
        createPublicKey(key.privateKey),
      )
      assert.ok(jose || pyjwt[i], `${name}: neither accepts it`)
      if (pyjwt[i] && !jose) lax += 1
    }
    assert.ok(lax > 3, 'PyJWT accepts more than jose, so a strict parser is no guard')
  },
)

/** As a compact token, or as flattened JSON whose parameters are not protected. */
async function acceptedByJose(text: string, signature: string, key: KeyObject) {
  const dot = text.indexOf('.')
  const header = { alg: 'EdDSA' }
  const protectedHeader = text.slice(0, dot)
  const json = {
    ...(protectedHeader && { protected: protectedHeader }),
    header,
    payload: text.slice(dot + 1),
    signature,
  }
  const attempts = [compactVerify(`${text}.${signature}`, key), flattenedVerify(json, key)]
  return (await Promise.allSettled(attempts)).some(({ status }) => status === 'fulfilled')
}
