// Runs under every runtime, on the published form: plain JavaScript, no test framework. Prints what it found.
import {
  Agent,
  agentSignIn,
  createChallenges,
  identifiedDid,
  isSignedChallenge,
  keyFromPem,
  memoryNonceStore,
  newKey,
  Registry,
  recomputeGrade,
  verifyCertificate,
  verifyRequest,
} from '@countersign/sdk'
import { keyFromFile } from '@countersign/sdk/node'

const [service, token, keyFile] = process.argv.slice(2)
const registry = await Registry.discover(service)
const signer = await keyFromFile(keyFile, { create: true })
const agent = new Agent({ registry, signer })
const { did } = await agent.claim(token)

const audience = 'https://shop.example'
const challenges = createChallenges({ registry, audience })
const answer = await agent.answer(await challenges.issue(), { audience })
const signIn = agentSignIn({ registry, audience, secret: 's'.repeat(32) })
const ask = (init) => signIn.handle(new Request(audience, init)).then((response) => response.json())
const { challenge } = await ask({})
const session = await ask({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(await agent.answer(challenge, { audience })),
})
const signing = new Agent({ registry, signer, did, audiences: [audience, service] })
// It starts with a clock in the past, so that the store is older than the request.
let shift = -3_600_000
const nonces = memoryNonceStore(100, () => Date.now() + shift)
shift = 0
const sent = await signing.sign(`${audience}/orders?`, { method: 'POST', body: '{}' })
const check = (request) => verifyRequest(request, { registry, audiences: [audience], nonces })
const copy = sent.clone()
const proof = await check(sent)
const made = await newKey()
const code = (promise) =>
  promise.then(
    () => 'none',
    (error) => error.code,
  )
const es256 = await fetch(`${service}/api/v1/agent/${did}/certificate?alg=ES256`)
const certificates = [await registry.certificate(did), await es256.text()]
const certified = await Promise.all(
  certificates.map((each) => verifyCertificate(each, { issuers: [service] })),
)
const silent = new Registry(service, { timeoutMs: 20, fetch: () => new Promise(() => {}) })
const nobody = new Registry('http://127.0.0.1:1', { retries: 0 })

console.log(
  JSON.stringify({
    claimed: did,
    lookedUp: (await registry.lookup(did)).certificate.id,
    again: (await registry.lookup(did)).verified,
    self: (await agent.whoami()).did,
    header: identifiedDid(new Headers(agent.identification()), registry.naming),
    signed: await isSignedChallenge(answer),
    verified: (await challenges.check(answer)).verified,
    twice: await code(challenges.check(answer)),
    session: (await signIn.session(session.token)).did,
    proof: [proof.verdict, proof.replay, proof.digest, (await check(copy)).reason],
    fetched: (await signing.fetch(`${service}/api/v1/identify`)).status,
    certified: certified.map((each) => each.did),
    grade: recomputeGrade(await registry.grade(did)).agrees,
    sameKey: (await keyFromPem(made.pem)).publicKey.join() === made.publicKey.join(),
    revoked: (await registry.resolve(did)).revoked,
    errors: [
      await code(registry.lookup(`svc:agent:${'1'.repeat(24)}`)),
      await code(silent.lookup(did)),
      await code(nobody.lookup(did)),
      await code(registry.lookup(did, { signal: AbortSignal.abort() })),
      await code(agent.answer(challenge, { audience: 'https://bank.example' })),
    ],
  }),
)
