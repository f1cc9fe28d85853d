import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { before, test } from 'node:test'
import { Agent, DelegatedAgent, keyFromPem, newKey, Registry, type Signer } from '@countersign/sdk'
import { httpbis } from 'http-message-signatures'
import { calculateJwkThumbprint, compactVerify, createLocalJWKSet, importJWK, type JWK } from 'jose'
import { keySetOf } from './support/agent-certificates.ts'
import { allowDelegation } from './support/allow-delegation.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { newKey as newTestKey } from './support/key.ts'
import { pythonFor } from './support/python.ts'
import { claimAgent, run, startTestService, type TestService } from './support/service.ts'

// Programs that know nothing of this project verify chains of delegations hop by hop, and the request of the delegate.

const PYTHON = pythonFor('cryptography')
const OTHERS = pythonFor('jwt', 'jwcrypto')
const SHOP = 'https://shop.example'
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})

/** An agent that may delegate three times, as the key of a program in any language. */
async function delegatingAgent() {
  const key = newTestKey()
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner, key)
  await allowDelegation(service, owner, did, 3)
  return { did, key }
}

interface Delegated {
  readonly delegate: DelegatedAgent
  readonly chain: string
  readonly signer: Signer
}

/** Chains of 1, 2 and 3 hops of the SDK. */
async function chainsOfSdk(): Promise<{ did: string; chains: Delegated[] }> {
  const { did, key } = await delegatingAgent()
  const pem = key.privateKey.export({ format: 'pem', type: 'pkcs8' })
  const signer = await keyFromPem(String(pem))
  let from: Pick<Agent, 'delegate'> = new Agent({
    registry: new Registry(service.url),
    signer,
    did,
  })
  const chains: Delegated[] = []
  for (const maxDepth of [2, 1, 0]) {
    const next = await newKey()
    const publicKey = Buffer.from(next.publicKey).toString('base64')
    const limits = { origins: [SHOP], methods: ['GET'], paths: ['/orders', '/orders/*'] }
    const { chain } = await from.delegate({ publicKey, maxDepth, ...limits })
    const delegate = new DelegatedAgent({ chain, signer: next })
    chains.push({ delegate, chain, signer: next })
    from = delegate
  }
  return { did, chains }
}

const CHAINS_OF_PYTHON = `
import json, sys
from countersign import Agent, AgentKey, DelegatedAgent
given = json.load(sys.stdin)
source = Agent(given["service"], AgentKey.from_jwk(given["jwk"]))
chains = []
for max_depth in (2, 1, 0):
    key = AgentKey.generate()
    chains.append(source.delegate(key.public_key, ["${SHOP}"], mcp=["tools/call a&b"], max_depth=max_depth).chain)
    source = DelegatedAgent(chains[-1], key)
print(json.dumps(chains))
`

/** The tokens of a chain, without the code of this project. */
function tokensOf(chain: string): readonly string[] {
  assert.match(chain, /^[^~]+~(?:~[^~]+~){1,3}$/)
  return chain.slice(0, -1).split('~~')
}

const digestOf = (token: string) => createHash('sha256').update(`${token}~`).digest('base64url')

/** Verifies a chain with jose. @returns the last key */
async function verifiedByJose(chain: string, keySet: { readonly keys: JWK[] }): Promise<JWK> {
  const [certificate = '', ...hops] = tokensOf(chain)
  const root = await compactVerify(certificate, createLocalJWKSet(keySet))
  let key: JWK = JSON.parse(new TextDecoder().decode(root.payload)).cnf.jwk
  let before = certificate
  for (const hop of hops) {
    const { payload, protectedHeader } = await compactVerify(hop, await importJWK(key, 'EdDSA'))
    assert.deepEqual(protectedHeader, { alg: 'EdDSA', typ: 'kb+sd-jwt+kb' })
    const {
      aud,
      sd_hash: binding,
      delegate_payload,
    } = JSON.parse(new TextDecoder().decode(payload))
    assert.equal(binding, digestOf(before))
    key = delegate_payload[0].cnf.jwk
    const thumbprint = await calculateJwkThumbprint(key)
    assert.equal(aud, `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${thumbprint}`)
    before = hop
  }
  return key
}

/** With one bit of a hop's signature changed. */
function forged(chain: string, at: number): string {
  const tokens = [...tokensOf(chain)]
  const [head, payload, end = ''] = (tokens[at] as string).split('.')
  const signature = Buffer.from(end, 'base64url')
  signature.writeUInt8(signature.readUInt8(5) ^ 1, 5)
  tokens[at] = `${head}.${payload}.${signature.toString('base64url')}`
  return tokens.map((each) => `${each}~`).join('~')
}

const keySet = async () => (await keySetOf(service)) as unknown as { keys: JWK[] }

test('jose verifies chains of 1 to 3 hops of the SDK and of the Python package, hop by hop', async (t) => {
  const { chains } = await chainsOfSdk()
  const found = chains.map(({ chain }) => chain)
  if (PYTHON.options.skip === false) {
    const { key } = await delegatingAgent()
    const given = { service: service.url, jwk: key.privateKey.export({ format: 'jwk' }) }
    const made = await run(PYTHON.path, ['-c', CHAINS_OF_PYTHON], PYTHON.env, JSON.stringify(given))
    assert.equal(made.code, 0, made.stderr)
    found.push(...JSON.parse(made.stdout))
  } else t.diagnostic(`without chains of Python: ${PYTHON.options.skip}`)
  const keys = await keySet()
  for (const chain of found) {
    await verifiedByJose(chain, keys)
    const hops = tokensOf(chain).length - 1
    for (let at = 0; at <= hops; at++) {
      await assert.rejects(verifiedByJose(forged(chain, at), keys), /signature verification failed/)
    }
  }
})

const VERIFY = `
import base64, hashlib, json, sys, jwt
from jwcrypto import jwk, jws

def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()

def by_pyjwt(token, key, audience=None):
    options = {"verify_aud": audience is not None}
    return jwt.decode(token, jwt.PyJWK(key, "EdDSA").key, algorithms=["EdDSA"], audience=audience, options=options)

def by_jwcrypto(token, key, audience=None):
    found = jws.JWS()
    found.deserialize(token)
    found.verify(jwk.JWK(**key))
    payload = json.loads(found.payload)
    assert audience is None or payload["aud"] == audience
    return payload

def walk(chain, key_set, verify):
    certificate, *hops = chain[:-1].split("~~")
    kid = jwt.get_unverified_header(certificate)["kid"]
    issuer = next(each for each in key_set["keys"] if each["kid"] == kid)
    key, before = verify(certificate, issuer)["cnf"]["jwk"], certificate
    for hop in hops:
        assert jwt.get_unverified_header(hop) == {"alg": "EdDSA", "typ": "kb+sd-jwt+kb"}
        unverified = jwt.decode(hop, options={"verify_signature": False})
        after = unverified["delegate_payload"][0]["cnf"]["jwk"]
        thumbprint = jwk.JWK(**after).thumbprint()
        payload = verify(hop, key, "urn:ietf:params:oauth:jwk-thumbprint:sha-256:" + thumbprint)
        assert payload["sd_hash"] == digest(before + "~")
        key, before = after, hop
    return jwk.JWK(**key).thumbprint()

def outcome(chain, key_set, verify):
    try:
        return walk(chain, key_set, verify)
    except (jwt.InvalidSignatureError, jws.InvalidJWSSignature):
        return "refused"

given = json.load(sys.stdin)
print(json.dumps([[outcome(each, given["keySet"], verify) for verify in (by_pyjwt, by_jwcrypto)] for each in given["chains"]]))
`

test('PyJWT and jwcrypto verify chains of 1 to 3 hops, hop by hop', OTHERS.options, async () => {
  const { chains } = await chainsOfSdk()
  const good = chains.map(({ chain }) => chain)
  const bad = good.flatMap((chain) => tokensOf(chain).map((_, at) => forged(chain, at)))
  const given = JSON.stringify({ keySet: await keySet(), chains: [...good, ...bad] })
  const { code, stdout, stderr } = await run(OTHERS.path, ['-c', VERIFY], {}, given)
  assert.equal(code, 0, stderr)
  const outcomes: string[][] = JSON.parse(stdout)
  for (const [at, { signer }] of chains.entries()) {
    const x = Buffer.from(signer.publicKey).toString('base64url')
    const keyid = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })
    assert.deepEqual(outcomes[at], [keyid, keyid])
  }
  for (const outcome of outcomes.slice(3)) assert.deepEqual(outcome, ['refused', 'refused'])
})

test('http-message-signatures verifies the request of a delegate with the last key of its chain', async () => {
  const { chains, did } = await chainsOfSdk()
  const keys = await keySet()
  for (const { delegate, chain } of chains) {
    const key = await verifiedByJose(chain, keys)
    const thumbprint = await calculateJwkThumbprint(key)
    const request = await delegate.sign(`${SHOP}/orders/1?a=b`)
    assert.equal(request.headers.get('serviceid'), did)
    const publicKey = createPublicKey({ key: key as never, format: 'jwk' })
    const message = {
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
    }
    const config = {
      requiredParams: ['created', 'expires', 'keyid', 'nonce', 'tag'],
      requiredFields: [
        '@method',
        '@authority',
        '@path',
        '@query',
        'serviceid-certificate',
        'serviceid',
      ],
      keyLookup: async ({ keyid }: { readonly keyid?: string }) =>
        keyid !== thumbprint
          ? null
          : {
              id: thumbprint,
              algs: ['ed25519'],
              verify: async (data: Buffer, signature: Buffer) =>
                verify(null, data, publicKey, signature),
            },
    }
    assert.equal(await httpbis.verifyMessage(config, message), true)
    const other = {
      ...message,
      headers: { ...message.headers, 'serviceid-certificate': chain.slice(1) },
    }
    assert.equal(await httpbis.verifyMessage(config, other), false)
  }
})
